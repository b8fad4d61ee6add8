// Pairs each backward operator with the forward operator that asked for it, in constant memory.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace redline::profiler {

struct ForwardOperator {
  int64_t sequence_number = -1;
  uint32_t autograd_thread = 0;  ///< LibTorch's number of the thread
  uint64_t tid = 0;
  int64_t begin_ns = 0;
};

/// Remembers forward operators by thread and sequence number. Of nested operators with the same
/// number, the one that began last made the autograd node (as Kineto has it). Numbers only grow, so
/// a slot's older owner is no longer waited for: it may be lost, as an arrow that is not drawn.
class ForwardOperators {
 public:
  void add(const ForwardOperator& forward);
  [[nodiscard]] std::optional<ForwardOperator> find(uint32_t autograd_thread,
                                                    int64_t sequence_number) const;

 private:
  [[nodiscard]] static size_t slot(uint32_t autograd_thread, int64_t sequence_number);

  static constexpr size_t kSlots = size_t{1} << 16;
  std::vector<ForwardOperator> slots_ = std::vector<ForwardOperator>(kSlots);
};

}  // namespace redline::profiler
