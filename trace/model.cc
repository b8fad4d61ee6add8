#include "trace/model.h"

#include "trace/json_scan.h"
#include "trace/text.h"

namespace redline::trace {

std::string_view Trace::event_text(uint64_t text_offset) const {
  const std::string_view text = text_->view();
  const size_t end = skip_value(text, text_offset);
  return text.substr(text_offset, end == kTextEnds ? end : end - text_offset);
}

std::string_view Trace::text_from(uint64_t text_offset) const {
  return text_->view().substr(text_offset);
}

}  // namespace redline::trace
