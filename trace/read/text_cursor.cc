#include "trace/read/text_cursor.h"

#include <algorithm>

#include "trace/read/event_parser.h"

namespace redline::trace {
namespace {

constexpr size_t kReachBytes = size_t{1} << 20;

}  // namespace

Text::Hold& TextCursor::hold_around(uint64_t text_offset, size_t bytes) {
  const auto known = std::ranges::find_if(holds_, [&](const Text::Hold& hold) {
    return hold.contains(text_offset, text_offset + bytes);
  });
  const bool is_new = known == holds_.end();
  std::rotate(holds_.begin(), is_new ? known - 1 : known, is_new ? known : known + 1);
  if (is_new) holds_.front() = trace_.text().hold(text_offset, bytes);
  return holds_.front();
}

std::string_view TextCursor::text_from(uint64_t text_offset) {
  return hold_around(text_offset, kReachBytes).from(text_offset);
}

std::string_view TextCursor::event_text(uint64_t text_offset) {
  for (size_t bytes = kReachBytes;; bytes *= 8) {
    const Text::Hold& hold = hold_around(text_offset, bytes);
    const std::string_view text = hold.from(text_offset);
    const size_t end = scan_event(text, 0).end;
    if (end < text.size() || !hold.is_cut()) return text.substr(0, end);
  }
}

std::string_view event_text(const Trace& trace, uint64_t text_offset) {
  for (size_t bytes = size_t{1} << 20;; bytes *= 4) {
    const std::string_view text = trace.text().keep(text_offset, bytes);
    const size_t end = text.empty() ? 0 : scan_event(text, 0).end;
    if (end < text.size() || text.size() < bytes) return text.substr(0, end);
  }
}

}  // namespace redline::trace
