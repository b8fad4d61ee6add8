#include "trace/model/model.h"

#include <algorithm>

#include "trace/model/text.h"
#include "trace/read/event_parser.h"

namespace redline::trace {

std::string_view Trace::event_text(uint64_t text_offset) const {
  for (size_t bytes = size_t{1} << 20;; bytes *= 4) {
    const std::string_view text = text_->keep(text_offset, bytes);
    const size_t end = text.empty() ? 0 : scan_event(text, 0).end;
    if (end < text.size() || text.size() < bytes) return text.substr(0, end);
  }
}

}  // namespace redline::trace
