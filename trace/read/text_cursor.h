// The events of a loaded trace as JSON text, exactly as they stand in the file.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "trace/model/model.h"
#include "trace/read/text.h"

namespace redline::trace {

/// The event as it stands in the file: one JSON object, args included. Text of a compressed file
/// stays in memory from then on; those who read many events use a TextCursor.
[[nodiscard]] std::string_view event_text(const Trace& trace, uint64_t text_offset);
[[nodiscard]] inline std::string_view event_text(const Trace& trace, SliceId slice) {
  return event_text(trace, trace.slices().text_offset[slice.value]);
}

/// Reads many events. Of a compressed file only the blocks around the last few events are kept in
/// memory, so reading may alternate between a few places, such as launches and their kernels. Each
/// thread needs a cursor of its own.
class TextCursor {
 public:
  explicit TextCursor(const Trace& trace) : trace_(trace) {}

  /// The text from the event on, at least all of an event of a megabyte. Valid until the next call.
  [[nodiscard]] std::string_view text_from(uint64_t text_offset);
  [[nodiscard]] std::string_view text_from(SliceId slice) { return text_from(offset_of(slice)); }
  [[nodiscard]] uint64_t offset_of(SliceId slice) const {
    return trace_.slices().text_offset[slice.value];
  }
  /// The whole event. Valid until the next call.
  [[nodiscard]] std::string_view event_text(uint64_t text_offset);

 private:
  [[nodiscard]] Text::Hold& hold_around(uint64_t text_offset, size_t bytes);

  const Trace& trace_;
  std::array<Text::Hold, 4> holds_;  ///< the last used one first
};

}  // namespace redline::trace
