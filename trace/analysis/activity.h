// The slices inside the steps, sorted by the kinds that the rules of the advice ask for.
//
// A trace has millions of slices, and there are two dozen rules. So a name is judged once, a slice
// is put into its list once, and a rule reads only the lists that it needs.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/intervals.h"
#include "trace/analysis/analysis.h"

namespace redline::trace {

/// What a slice does, in the terms of the advice's rules. This is finer than a NameKind, and it
/// only distinguishes what some rule asks for.
enum class WorkKind : uint8_t {
  kNone,
  kDataLoader,       ///< the wait for a batch
  kOptimizer,        ///< Optimizer.step
  kConvolution,      ///< convolution operators
  kMatrixOperator,   ///< other operators that autocast runs in 16 bits
  kContiguous,       ///< operators that make a tensor contiguous
  kSynchronization,  ///< calls that wait until the GPU has finished
  kAllocation,       ///< calls that allocate or free memory of a GPU
  kLaunch,           ///< calls that launch a kernel, and never wait but for a full queue
  kFloat32Kernel,    ///< matrix products and convolutions in FP32 without Tensor Cores
  kTf32Kernel,       ///< the same in TF32
  kHalfKernel,       ///< the same with 16 bits or fewer
  kTransposeKernel,  ///< NCHW to NHWC or back
  kCollectiveKernel,
  kOtherKernel,
  kPageableCopy,  ///< from pageable host memory
  kCopyToPageable,
  kOtherCopy,
  kCount,
};

/// The kind of a slice of that category and name.
[[nodiscard]] WorkKind work_kind_of(Category category, std::string_view name);

/// Answers work_kind_of() for a trace's slices and decides each name only once.
class WorkKinds {
 public:
  explicit WorkKinds(const Trace& trace);

  [[nodiscard]] WorkKind of(Category category, StringId name);
  /// The answer that of() gave; kNone if of() was never asked for this name.
  [[nodiscard]] WorkKind known(Category category, StringId name) const;

 private:
  [[nodiscard]] static size_t group_of(Category category);

  const Trace& trace_;
  std::array<std::vector<WorkKind>, 4> known_;  // by group of categories, then by name
};

/// Kernels that touch a step, and the calls that launched them: one starts a whole CUDA graph.
struct KernelCount {
  int64_t kernels = 0, launches = 0;
};

class Activity {
 public:
  explicit Activity(const Analysis& analysis);

  [[nodiscard]] const Analysis& analysis() const { return analysis_; }
  [[nodiscard]] const Trace& trace() const { return *analysis_.trace; }
  [[nodiscard]] const Intervals& steps() const { return steps_; }
  [[nodiscard]] int64_t step_count() const { return static_cast<int64_t>(analysis_.steps.size()); }
  [[nodiscard]] std::string_view a_step() const { return analysis_.a_step(); }
  [[nodiscard]] std::string_view the_step() const { return analysis_.the_step(); }
  [[nodiscard]] int64_t steps_ns() const { return steps_ns_; }  ///< all steps together

  /// The slices of that kind that touch a step, sorted by track and begin.
  [[nodiscard]] std::span<const SliceId> of(WorkKind kind) const {
    return slices_[static_cast<size_t>(kind)];
  }
  [[nodiscard]] KernelCount kernel_count() const;
  [[nodiscard]] bool has_operators() const { return has_operators_; }  ///< also outside the steps
  /// It has operators, but no DataLoader: the job has nothing that would take a DataLoader's knobs.
  [[nodiscard]] bool lacks_dataloader() const { return has_operators_ && !has_dataloader_; }

  /// Then the cures that PyTorch has are none, nor are the knobs of autotune.
  [[nodiscard]] bool lacks_pytorch() const { return recorded_.is_without_pytorch(); }
  [[nodiscard]] bool lacks_python() const { return recorded_.is_without_python(); }
  [[nodiscard]] const RecordedFacts& recorded() const { return recorded_; }

  /// The times inside the steps in which any of `slices` runs; overlapping times are united.
  [[nodiscard]] Intervals time_of(std::span<const SliceId> slices) const;
  [[nodiscard]] const Intervals& time_of(WorkKind device_kind) const {
    return device_times_[static_cast<size_t>(device_kind)];
  }
  /// Nanoseconds of `time` in which no device does work of another kind than `own`.
  [[nodiscard]] int64_t alone_ns(Intervals time, std::span<const WorkKind> own) const;
  [[nodiscard]] const Intervals& device_time() const { return device_time_; }
  /// Nanoseconds of `time` in all steps, where a step counts for three times the median of those
  /// that have any, at most: on a machine with other work, a call of microseconds may stand still
  /// for milliseconds, and no cure of the call would change that.
  [[nodiscard]] int64_t without_stalls_ns(const Intervals& time) const;

  /// The call that launched a piece of device work; none() if the trace does not say.
  [[nodiscard]] SliceId launcher(SliceId device_work) const {
    return analysis_.device_work.launch_of(device_work);
  }
  /// Of the operators and annotations around a host slice, the nearest one of that kind.
  [[nodiscard]] SliceId around(SliceId host_slice, WorkKind kind) const;

  /// Idle device time that could have been used if the host had not spent its time in `calls`: the
  /// host would be ahead by the time of the calls, and no device can gain more than its idle time
  /// after them. Worker processes that do not keep up with training are not waited for any less.
  [[nodiscard]] int64_t idle_time_after_ns(std::span<const SliceId> calls) const;

 private:
  void sort_slices();
  void measure_device();
  [[nodiscard]] Intervals waits_for_workers() const;

  const Analysis& analysis_;
  const RecordedFacts recorded_;
  WorkKinds kinds_;
  Intervals steps_;
  int64_t steps_ns_ = 0;
  bool has_operators_ = false, has_dataloader_ = false;
  std::array<std::vector<SliceId>, static_cast<size_t>(WorkKind::kCount)> slices_;
  std::array<Intervals, static_cast<size_t>(WorkKind::kCount)> device_times_;
  Intervals device_time_;
};

}  // namespace redline::trace
