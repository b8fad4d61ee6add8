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
constexpr size_t kSmallPage = 4096;

}  // namespace

void SliceRows::begin_run(uint32_t track) {
  TrackRuns& runs = tracks_[track];
  if (runs.next == runs.end) {
    const size_t least = tracks_.size() < kVeryManyTracks
                             ? kFirstBlockRows
                             : std::clamp<size_t>(runs.rows, 1, kFirstBlockRows);
    take_block(runs, std::bit_floor(std::clamp<size_t>(runs.rows / 4, least, kLargestBlockRows)));
  }
  const auto at = static_cast<uint32_t>(runs_.size());
  runs_.push_back({{chunk_, 0, runs.next, runs.block}});
  (runs.last == kNone ? first_runs_[track] : runs_[runs.last].next_of_track) = at;
  runs.last = at;
}

void SliceRows::take_block(TrackRuns& runs, size_t rows) {
  runs.next = take_rows(rows);
  runs.end = runs.next + rows;
  runs.rows += static_cast<uint32_t>(rows);
  runs.block = rows * sizeof(SliceRow) < kSmallPage
                   ? nullptr
                   : &blocks_.emplace_back(std::span(runs.next, rows));
}

// Blocks of a page or more begin on a page of their own, so that their pages can be given back.
SliceRow* SliceRows::take_rows(size_t rows) {
  const size_t bytes = rows * sizeof(SliceRow);
  const size_t alignment = bytes == kLargePage ? kLargePage : std::min(bytes, kSmallPage);
  for (;;) {
    if (memory_.empty()) memory_.push_back(ColumnMemory::allocate(kMemoryBytes));
    ColumnMemory& memory = *memory_.back();
    void* begin = memory.data() + memory_used_;
    size_t room = memory.size() - memory_used_;
    if (std::align(alignment, bytes, begin, room) != nullptr) {
      memory_used_ = memory.size() - room + bytes;
      return static_cast<SliceRow*>(begin);
    }
    memory_.push_back(ColumnMemory::allocate(kMemoryBytes));
    memory_used_ = 0;
  }
}

}  // namespace redline::trace
