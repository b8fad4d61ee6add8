// The rows of one track in the order in which its lanes are filled.
//
// A profiler writes a track as a few rows of events that are each in order (operators, then the
// runtime's calls), often again and again. So nothing is moved to sort it: runs that follow each
// other form chains, and the chains are merged while they are walked over.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trace/slice_rows.h"

namespace redline::trace {

/// Rows in order, and what their names are called in the whole trace.
struct RowRun {
  std::span<const SliceRow> rows;   ///< not empty
  const StringId* names = nullptr;  ///< by SliceRow::name; null: they are the trace's own

  [[nodiscard]] StringId name_of(const SliceRow& row) const {
    return names != nullptr && row.name ? names[row.name.value] : row.name;
  }
};

class RowOrder {
 public:
  /// `runs` are in the order of the file; they must outlive this.
  explicit RowOrder(std::span<const RowRun> runs);

  /// Calls visit(row, name) for each row.
  template <typename Visit>
  void for_each(Visit visit) const {
    if (chains_.size() == 1) {
      for (const RowRun& run : chains_[0]) {
        for (const SliceRow& row : run.rows) visit(row, run.name_of(row));
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
        cursor.advance();
      } while (!cursor.ended() &&
               (second == first || opens_before(*cursor.row, *cursors[second].row)));
      if (cursor.ended()) cursors.erase(cursors.begin() + static_cast<ptrdiff_t>(first));
    }
  }

 private:
  using Chain = std::vector<RowRun>;

  struct Cursor {
    explicit Cursor(const Chain& chain)
        : run(chain.data()), last_run(run + chain.size() - 1), row(run->rows.data()) {}
    void advance() {
      if (++row == run->rows.data() + run->rows.size() && run != last_run) {
        row = (++run)->rows.data();
      }
    }
    [[nodiscard]] bool ended() const { return row == run->rows.data() + run->rows.size(); }

    const RowRun* run;
    const RowRun* last_run;
    const SliceRow* row;
  };

  struct NextTwo {
    size_t first;
    size_t second;  ///< the same where there is no other
  };
  [[nodiscard]] static NextTwo next_two(std::span<const Cursor> cursors);

  bool chain_up(std::span<const RowRun> runs);
  void sort(std::span<const RowRun> runs);

  std::vector<Chain> chains_;
  std::vector<SliceRow> sorted_;  ///< where chains would be too many
};

}  // namespace redline::trace
