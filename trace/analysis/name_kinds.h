// What the names of a trace stand for, decided once a name instead of once an event.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/model/model.h"

namespace redline::trace {

enum NameKind : uint8_t {
  kStepName = 1 << 0,             ///< "ProfilerStep#5"
  kDataLoaderName = 1 << 1,       ///< is_dataloader_wait
  kCommunicationOpName = 1 << 2,  ///< is_communication_op
  kCommunicationKernelName = 1 << 3,
  kMatrixOpName = 1 << 4,   ///< is_matrix_operator
  kBackwardName = 1 << 5,   ///< a node of autograd's backward graph
  kOptimizerName = 1 << 6,  ///< "Optimizer.step#SGD.step", "Optimizer.zero_grad#…"
};

class NameKinds {
 public:
  explicit NameKinds(const Trace& trace);

  /// The kinds of `name`, as bits; 0 for none.
  [[nodiscard]] uint8_t of(StringId name) const { return name ? kinds_[name.value] : 0; }
  [[nodiscard]] bool is(StringId name, NameKind kind) const { return (of(name) & kind) != 0; }

 private:
  std::vector<uint8_t> kinds_;  // by StringId
};

}  // namespace redline::trace
