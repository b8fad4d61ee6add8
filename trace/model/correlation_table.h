// Finds a GPU's work by its correlation number.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "trace/model/columns.h"
#include "trace/model/model.h"

namespace redline::trace {

/// The kernels, copies, memsets and waits that have a correlation number. Work launched one after
/// the other has numbers one after the other, so the table stores those close together.
class CorrelationTable {
 public:
  struct Entry {
    uint32_t correlation = 0;  ///< 0: none, which is what fresh pages hold
    uint32_t first : 30 = 0;   ///< id of the first slice with this number
    uint32_t has_more : 1 = 0;
    uint32_t is_linked : 1 = 0;  ///< free for the caller; the table never reads it
  };

  /// `works` are in the order of their ids.
  CorrelationTable(std::span<const SliceId> works, std::span<const uint32_t> correlation);

  /// Null if no work has the number.
  [[nodiscard]] Entry* find(uint64_t correlation) const;

  /// Calls visit(SliceId) for each work of the number, in order.
  template <typename Visit>
  void for_each_work(const Entry& entry, Visit visit) const {
    visit(SliceId{entry.first});
    if (entry.has_more == 0) return;
    for (const auto& [correlation, slice] : more_of(entry.correlation)) visit(slice);
  }

 private:
  using Work = std::pair<uint32_t, SliceId>;

  [[nodiscard]] size_t slot_of(uint32_t correlation) const;
  [[nodiscard]] std::span<const Work> more_of(uint32_t correlation) const;

  std::shared_ptr<ColumnMemory> memory_;
  std::span<Entry> entries_;  ///< open addressing; its size is a power of two
  int size_bits_ = 0;
  std::vector<Work> more_;  ///< all but the first of each number, sorted: a graph's launch has many
};

}  // namespace redline::trace
