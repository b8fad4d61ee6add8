// Tells what an event is from its name. Recorder, report, HTML page and viewer share this one
// table, so that an event that is communication in one of them is communication in all.
//
// A collective shows up in a trace under three kinds of names. Its time is that of the GPU kernel
// or, on the host, of the process group's annotation. The operators around the call ("c10d::…")
// only hand it over: they are drawn as communication, but their time is the host's, as in
// TensorBoard's plugin. Nothing here allocates, as it also runs in the training process.
#pragma once

#include <cstdint>
#include <string_view>

namespace redline::trace {

enum NameKind : uint8_t {
  /// The annotation around a training step: "ProfilerStep#5", or "unfinished ProfilerStep#5" if the
  /// recording ended first. Both contain everything, so neither is an operator.
  kStepName = 1 << 0,
  kDataLoaderName = 1 << 1,           ///< the annotation around fetching one batch
  kCommunicationOpName = 1 << 2,      ///< a process group's annotation: "nccl:all_reduce"
  kCommunicationCallName = 1 << 3,    ///< operators around the call: "c10d::allreduce_"
  kCommunicationKernelName = 1 << 4,  ///< is_communication_kernel
  kMatrixOpName = 1 << 5,             ///< operators that can use Tensor Cores, as the plugin lists
  kBackwardName = 1 << 6,             ///< a node of autograd's backward graph
  kOptimizerName = 1 << 7,            ///< "Optimizer.step#SGD.step", "Optimizer.zero_grad#…"
};

/// All kinds of `name`, as bits; 0 for most names.
[[nodiscard]] uint8_t name_kinds(std::string_view name);

/// Only of steps that ended, which are those that reports count.
[[nodiscard]] inline bool is_step_name(std::string_view name) {
  return name.starts_with("ProfilerStep#");
}
/// Of all that kStepName stands for.
[[nodiscard]] inline bool is_any_step_name(std::string_view name) {
  return is_step_name(name) || name.starts_with("unfinished ProfilerStep#");
}

/// The kernel of a collective: NCCL's ("ncclKernel_…" before 2.19, "ncclDevKernel_…" since), or one
/// of those that serving engines and symmetric memory use in its place.
[[nodiscard]] bool is_communication_kernel(std::string_view name);

/// The annotation of a process group that communicates on the host, so that its length is that of
/// the collective. NCCL's and XCCL's end once the kernel is launched.
[[nodiscard]] bool is_host_collective(std::string_view name);

}  // namespace redline::trace
