#include "trace/slice_rows.h"

#include <algorithm>
#include <new>

namespace redline::trace {
namespace {

// A trace may have thousands of tracks with a few slices each, and one with millions.
constexpr uint32_t kFirstBlockRows = 16;
constexpr uint32_t kLargestBlockRows = 2048;

constexpr size_t kMemoryBytes = size_t{16} << 20;  // pages are only there once written

}  // namespace

void SliceRows::begin_run(TrackRuns& runs) {
  if (runs.next == runs.end) {
    runs.block_rows = std::clamp(runs.block_rows * 4, kFirstBlockRows, kLargestBlockRows);
    runs.next = take_block(runs.block_rows);
    runs.end = runs.next + runs.block_rows;
  }
  runs.runs.push_back({chunk_, 0, runs.next});
}

SliceRow* SliceRows::take_block(size_t rows) {
  const size_t bytes = rows * sizeof(SliceRow);
  if (memory_.empty() || memory_used_ + bytes > memory_.back()->size()) {
    memory_.push_back(ColumnMemory::allocate(kMemoryBytes));
    memory_used_ = 0;
  }
  auto* const block = reinterpret_cast<SliceRow*>(memory_.back()->data() + memory_used_);
  memory_used_ += bytes;
  return block;
}

}  // namespace redline::trace
