// NCCL's profiler plugin as a source of the recorder: what its versions (nccl_abi.h) have in
// common.
//
// NCCL calls from its own and the job's threads; nothing is locked or allocated but for a
// communicator, and nothing is done where no window is recorded.
#pragma once

#include <atomic>
#include <cstdint>

#include "profiler/nccl/communicator.h"
#include "profiler/nccl/open_events.h"
#include "profiler/source/source.h"

namespace redline::nccl {

class NcclPlugin final : public profiler::Source {
 public:
  /// Lives as long as the process, from the first communicator on.
  [[nodiscard]] static NcclPlugin& instance();

  void enable(const RecorderOptions& options) noexcept override;
  /// What is open is recorded as not finished, and is over.
  void disable() noexcept override;

  /// The handle of an event that begins, 0 where it is not recorded.
  [[nodiscard]] uint64_t begin(const Event& event);
  void end(uint64_t handle);
  /// `with_stamps`: the interface's version has stamps of the GPU's clock, and bytes of steps.
  void change(uint64_t handle, EventState state, const StateArgs* args, bool with_stamps);

 private:
  [[nodiscard]] OpenEvent* take_place(uint64_t& handle);
  [[nodiscard]] uint32_t expected_parts(const Event& event) const;
  void join_parent(Event& event);
  void leave(uint64_t handle, OpenEvent& open);
  void record_phase(const OpenEvent& open, uint64_t handle, int64_t end_ns);
  [[nodiscard]] profiler::Record describe(const OpenEvent& open, uint64_t handle) const;

  OpenEvents open_;
  std::atomic<uint64_t> events_ = 0;
  std::atomic<uint64_t> dropped_ = 0;
};

/// The types that are wanted of a version that knows `known`: those of NCCL_PROFILE_EVENT_MASK, as
/// for other plugins, else all but single transfers.
[[nodiscard]] int wanted_types(int known);

}  // namespace redline::nccl
