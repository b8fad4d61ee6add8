#include "trace/text_cursor.h"

#include "trace/event_parser.h"

namespace redline::trace {
namespace {

constexpr size_t kReachBytes = size_t{1} << 20;
constexpr size_t kHoldBytes = size_t{8} << 20;

}  // namespace

std::string_view TextCursor::text_from(uint64_t text_offset) {
  if (!hold_.contains(text_offset, text_offset + kReachBytes)) {
    hold_ = trace_.text().hold(text_offset, kHoldBytes);
  }
  return hold_.from(text_offset);
}

std::string_view TextCursor::event_text(uint64_t text_offset) {
  std::string_view text = text_from(text_offset);
  size_t end = scan_event(text, 0).end;
  for (size_t bytes = 4 * kHoldBytes; end == text.size() && hold_.is_cut(); bytes *= 4) {
    hold_ = trace_.text().hold(text_offset, bytes);
    text = hold_.from(text_offset);
    end = scan_event(text, 0).end;
  }
  return text.substr(0, end);
}

}  // namespace redline::trace
