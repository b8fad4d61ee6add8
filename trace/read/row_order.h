// The rows of one track in the order in which its lanes are filled.
//
// A profiler writes a track as a few sequences that are each in order (first its operators, then
// its runtime calls), often many times over. So nothing is moved to sort them: runs that continue
// one another form chains, and the chains are merged during the walk.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "trace/read/slice_rows.h"

namespace redline::trace {

/// Rows in order, and the ids that their names have in the whole trace.
struct RowRun {
  std::span<const SliceRow> rows;   ///< not empty
  const StringId* names = nullptr;  ///< by SliceRow::name; null: they are the trace's own
  RowBlock* block = nullptr;        ///< learns when the rows were taken; null: their memory stays

  [[nodiscard]] StringId name_of(const SliceRow& row) const {
    return names != nullptr && row.name ? names[row.name.value] : row.name;
  }
  void await() const {
    if (block != nullptr) block->await(rows.size());
  }
  void taken() const {
    if (block != nullptr) block->taken(rows.size());
  }
};

class RowOrder {
 public:
  /// `runs` are in the order of the file; they must outlive this. Where they must be sorted, their
  /// rows are taken here.
  explicit RowOrder(std::span<const RowRun> runs);

  /// Calls visit(row, name) for each row.
  template <typename Visit>
  void for_each(Visit visit) const {
    walk(visit, [](const RowRun&) {});
  }
  /// The same for the last time: the memory of rows is returned once they have been visited.
  template <typename Visit>
  void take_each(Visit visit) const {
    walk(visit, [](const RowRun& run) { run.taken(); });
  }

 private:
  using Chain = std::vector<RowRun>;

  struct Cursor {
    explicit Cursor(const Chain& chain)
        : run(chain.data()), last_run(run + chain.size() - 1), row(run->rows.data()) {}
    template <typename Leave>
    void advance(const Leave& leave) {
      if (++row != run->rows.data() + run->rows.size()) return;
      leave(*run);
      if (run != last_run) row = (++run)->rows.data();
    }
    [[nodiscard]] bool ended() const { return row == run->rows.data() + run->rows.size(); }

    const RowRun* run;
    const RowRun* last_run;
    const SliceRow* row;
  };

  // Calls leave(run) after the last row of each run.
  template <typename Visit, typename Leave>
  void walk(Visit& visit, const Leave& leave) const {
    if (chains_.size() == 1) {
      for (const RowRun& run : chains_[0]) {
        for (const SliceRow& row : run.rows) visit(row, run.name_of(row));
        leave(run);
      }
      return;
    }
    std::vector<Cursor> cursors;
    for (const Chain& chain : chains_) cursors.emplace_back(chain);
    while (!cursors.empty()) {
      const auto [first, second] = next_two(cursors);
      Cursor& cursor = cursors[first];
      do {
        visit(*cursor.row, cursor.run->name_of(*cursor.row));
        cursor.advance(leave);
      } while (!cursor.ended() &&
               (second == first || opens_before(*cursor.row, *cursors[second].row)));
      if (cursor.ended()) cursors.erase(cursors.begin() + static_cast<ptrdiff_t>(first));
    }
  }

  struct NextTwo {
    size_t first;
    size_t second;  ///< the same where there is no other
  };
  [[nodiscard]] static NextTwo next_two(std::span<const Cursor> cursors);

  bool chain_up(std::span<const RowRun> runs);
  void sort(std::span<const RowRun> runs);

  std::vector<Chain> chains_;
  // Used instead if there would be too many chains.
  std::shared_ptr<ColumnMemory> sorted_;
  std::vector<RowBlock> sorted_blocks_;
};

}  // namespace redline::trace
