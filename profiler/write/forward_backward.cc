#include "profiler/write/forward_backward.h"

namespace redline::profiler {

size_t ForwardOperators::slot(uint32_t autograd_thread, int64_t sequence_number) {
  return (static_cast<size_t>(sequence_number) + autograd_thread * size_t{0x9E3779B1}) % kSlots;
}

void ForwardOperators::add(const ForwardOperator& forward) {
  auto& known = slots_[slot(forward.autograd_thread, forward.sequence_number)];
  const bool same = known.sequence_number == forward.sequence_number &&
                    known.autograd_thread == forward.autograd_thread;
  if (!same || known.begin_ns <= forward.begin_ns) known = forward;
}

std::optional<ForwardOperator> ForwardOperators::find(uint32_t autograd_thread,
                                                      int64_t sequence_number) const {
  const auto& known = slots_[slot(autograd_thread, sequence_number)];
  if (known.sequence_number != sequence_number || known.autograd_thread != autograd_thread) {
    return std::nullopt;
  }
  return known;
}

}  // namespace redline::profiler
