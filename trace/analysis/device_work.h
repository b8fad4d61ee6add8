// Kernels, copies and memsets as rows, by stream, with those of their args that analyses ask for.
//
// Args are two thirds of a kernel's event, and they stay in the text. When each analysis looked its
// keys up by itself, this was most of a report's time. So each event's args are read once, here, in
// pieces that several threads can take.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/intervals.h"
#include "trace/model/model.h"
#include "trace/model/slice_class.h"
#include "trace/read/text_cursor.h"

namespace redline::trace {

struct DeviceWork {
  Interval interval;
  SliceId slice;
  SliceId launch;  ///< the runtime or driver call; none() if the trace lacks it
  StringId name;
  Category category = Category::kKernel;  ///< or kMemcpy, kMemset
  bool is_communication = false;
  // Set by read_args():
  double occupancy = -1;      ///< estimated, 0..1, of kernels; -1 if the trace does not say
  double blocks_per_sm = -1;  ///< of kernels; -1 if the trace does not say
  int64_t bytes = 0;          ///< of copies
  double bandwidth = 0;       ///< bytes/s of copies, as the trace has it; 0 if it does not say

  [[nodiscard]] bool is_kernel() const { return category == Category::kKernel; }
};

/// A stream of a device, and its rows.
struct DeviceStream {
  int32_t device = -1;
  int64_t stream = -1;
  size_t first = 0;
  size_t count = 0;
};

struct DeviceWorkTable {
  std::vector<DeviceWork> rows;       ///< by device, stream, begin
  std::vector<DeviceStream> streams;  ///< by device, stream
  SliceId first_slice;                ///< the first slice in the lanes that hold the rows
  std::vector<uint32_t> row_of;       ///< by slice, from first_slice on; kNoRow for other slices

  static constexpr uint32_t kNoRow = UINT32_MAX;

  [[nodiscard]] std::span<const DeviceWork> of(const DeviceStream& stream) const {
    return std::span(rows).subspan(stream.first, stream.count);
  }
  [[nodiscard]] uint32_t index_of(SliceId slice) const {
    const uint32_t place = slice.value - first_slice.value;
    return place < row_of.size() ? row_of[place] : kNoRow;
  }
  /// The call that launched the slice; none() if it is unknown or if the slice is no device work.
  [[nodiscard]] SliceId launch_of(SliceId slice) const {
    const uint32_t row = index_of(slice);
    return row == kNoRow ? SliceId::none() : rows[row].launch;
  }
};

/// Finds all device work. The rows' args must still be read, by read_args().
[[nodiscard]] DeviceWorkTable find_device_work(const Trace& trace, const NameKinds& names);

void read_args(TextCursor& text, std::span<DeviceWork> rows);

}  // namespace redline::trace
