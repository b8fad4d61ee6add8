// Slices as the threads of the reader find them, before they have lanes.
//
// Getting fresh memory from the system can take most of a load's time. So a row is written once, to
// the memory of its track, and read once, when the columns are filled. Each block of rows returns
// to the system as soon as its rows are in the columns: all rows and all columns never exist
// together.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "base/free_memory.h"
#include "trace/model/columns.h"
#include "trace/model/model.h"

namespace redline::trace {

/// One slice. Its track is not in it: it is known from the list in which the row lies.
struct SliceRow {
  static constexpr uint64_t kLargestOffset = (uint64_t{1} << 48) - 1;

  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  uint64_t text_offset : 48 = 0;
  Category category = Category::kOther;
  StringId name;
  uint32_t correlation = 0;
};
static_assert(sizeof(SliceRow) == 32);

/// The order within a track: parents before their children; slices of one interval stay in the
/// file's order.
[[nodiscard]] inline bool opens_before(const SliceRow& left, const SliceRow& right) {
  if (left.begin_ns != right.begin_ns) return left.begin_ns < right.begin_ns;
  if (left.end_ns != right.end_ns) return left.end_ns > right.end_ns;
  return left.text_offset < right.text_offset;
}

/// Memory of rows of one track. One thread reads them all, so counting them needs no lock.
class RowBlock {
 public:
  explicit RowBlock(std::span<SliceRow> rows) : rows_(rows) {}

  [[nodiscard]] std::span<SliceRow> rows() const { return rows_; }
  void await(size_t rows) { awaited_ += rows; }
  /// Returns the memory to the system once the last awaited row was taken.
  void taken(size_t rows) {
    awaited_ -= rows;
    if (awaited_ == 0) give_back(std::as_writable_bytes(rows_));
  }

 private:
  std::span<SliceRow> rows_;
  size_t awaited_ = 0;
};

/// The rows that one thread found, track by track, each track's in runs that are in order.
class SliceRows {
 public:
  struct Run {
    uint32_t chunk = 0;  ///< the chunk of the text that it was found in
    uint32_t count = 0;
    const SliceRow* first = nullptr;
    RowBlock* block = nullptr;  ///< null: it is smaller than a page

    [[nodiscard]] std::span<const SliceRow> rows() const { return {first, count}; }
  };

  /// Rows that are pushed from here on belong to this chunk.
  void begin_chunk(uint32_t chunk) { chunk_ = chunk; }

  void push(uint32_t track, const SliceRow& row) {
    if (track >= tracks_.size()) {
      tracks_.resize(track + 1);
      first_runs_.resize(track + 1, kNone);
    }
    TrackRuns& runs = tracks_[track];
    const bool continues = runs.next != runs.end && runs_[runs.last].run.chunk == chunk_ &&
                           !opens_before(row, runs.next[-1]);
    if (!continues) begin_run(track);
    *runs.next++ = row;
    ++runs_[runs.last].run.count;
  }

  /// Calls visit(track, run) for each run; those of a track come in the order in which their rows
  /// were added.
  template <typename Visit>
  void for_each_run(const Visit& visit) const {
    for (uint32_t track = 0; track < first_runs_.size(); ++track) {
      for (uint32_t at = first_runs_[track]; at != kNone; at = runs_[at].next_of_track) {
        visit(track, runs_[at].run);
      }
    }
  }
  /// Frees what only push() needs.
  void close() { free_memory(tracks_); }
  /// Frees all but the rows themselves and their blocks.
  void forget_runs() {
    close();
    free_memory(first_runs_);
    free_memory(runs_);
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  // A trace may have a million tracks of one row, so both are small and lie side by side.
  struct LinkedRun {
    Run run;
    uint32_t next_of_track = kNone;
  };
  struct TrackRuns {
    SliceRow* next = nullptr;
    SliceRow* end = nullptr;  ///< of the block that rows are written to
    RowBlock* block = nullptr;
    uint32_t rows = 0;  ///< in all blocks
    uint32_t last = kNone;
  };

  void begin_run(uint32_t track);
  void take_block(TrackRuns& runs, size_t rows);
  [[nodiscard]] SliceRow* take_rows(size_t rows);

  uint32_t chunk_ = 0;
  std::vector<TrackRuns> tracks_;
  std::vector<uint32_t> first_runs_;  ///< by track
  std::vector<LinkedRun> runs_;
  std::deque<RowBlock> blocks_;
  std::vector<std::shared_ptr<ColumnMemory>> memory_;
  size_t memory_used_ = 0;  ///< bytes of the last one
};

}  // namespace redline::trace
