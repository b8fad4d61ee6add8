#include "trace/read/slice_rows.h"

#include <algorithm>
#include <bit>

namespace redline::trace {
namespace {

// A trace may have thousands of tracks with a few slices each, and one track with millions. So a
// new block is a quarter as large as what the track has so far, and at most a large page of memory.
// Where tracks are very many, most have one slice, and the first blocks grow from one row.
constexpr size_t kFirstBlockRows = 16;
constexpr size_t kVeryManyTracks = 10'000;
constexpr size_t kLargePage = size_t{2} << 20;
constexpr size_t kLargestBlockRows = kLargePage / sizeof(SliceRow);

constexpr size_t kMemoryBytes = 8 * kLargePage;  // pages take memory only once they are written

}  // namespace

void SliceRows::begin_run(TrackRuns& runs) {
  if (runs.next == runs.end) {
    const size_t least = tracks_.size() < kVeryManyTracks
                             ? kFirstBlockRows
                             : std::clamp<size_t>(runs.rows, 1, kFirstBlockRows);
    const size_t rows = std::clamp(runs.rows / 4, least, kLargestBlockRows);
    runs.block = take_block(std::bit_floor(rows));
    runs.rows += runs.block->rows().size();
    runs.next = runs.block->rows().data();
    runs.end = runs.next + runs.block->rows().size();
  }
  runs.runs.push_back({chunk_, 0, runs.next, runs.block});
}

// Blocks of a page or more begin on a page of their own, so that their pages can be given back.
RowBlock* SliceRows::take_block(size_t rows) {
  constexpr size_t kPage = 4096;
  const size_t bytes = rows * sizeof(SliceRow);
  const size_t alignment = bytes == kLargePage ? kLargePage : std::min(bytes, kPage);
  for (;;) {
    if (memory_.empty()) memory_.push_back(ColumnMemory::allocate(kMemoryBytes));
    ColumnMemory& memory = *memory_.back();
    void* begin = memory.data() + memory_used_;
    size_t room = memory.size() - memory_used_;
    if (std::align(alignment, bytes, begin, room) != nullptr) {
      memory_used_ = memory.size() - room + bytes;
      return &blocks_.emplace_back(std::span(static_cast<SliceRow*>(begin), rows));
    }
    memory_.push_back(ColumnMemory::allocate(kMemoryBytes));
    memory_used_ = 0;
  }
}

}  // namespace redline::trace
