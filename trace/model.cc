#include "trace/model.h"

#include <algorithm>

#include "trace/event_parser.h"
#include "trace/text.h"

namespace redline::trace {

std::string_view Trace::event_text(uint64_t text_offset) const {
  const std::string_view text = text_->view();
  if (text_offset >= text.size()) return {};  // the file changed since
  return text.substr(text_offset, scan_event(text, text_offset).end - text_offset);
}

std::string_view Trace::text_from(uint64_t text_offset) const {
  const std::string_view text = text_->view();
  return text.substr(std::min<uint64_t>(text_offset, text.size()));
}

}  // namespace redline::trace
