// NCCL's profiler plugin as a source of the recorder: what its versions (nccl_abi.h) have in
// common.
//
// NCCL calls from its own and the job's threads; nothing is locked or allocated but for a
// communicator, and nothing is done where no window is recorded.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <mutex>
#include <vector>

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

  /// A communicator that NCCL makes. It is kept for ever, as events of other threads may still be
  /// open when it ends. From now on *mask asks NCCL for the events of `types` in windows and for
  /// none outside: NCCL looks at it at each call, and events cost time.
  [[nodiscard]] Communicator& add_communicator(int types, int* mask);
  /// NCCL may be gone after the last one.
  void end_communicator(const Communicator& communicator);

  /// The handle of an event that begins, 0 where it is not recorded.
  [[nodiscard]] uint64_t begin(const Event& event);
  void end(uint64_t handle);
  /// `with_stamps`: the interface's version has stamps of the GPU's clock, and bytes of steps.
  void change(uint64_t handle, EventState state, const StateArgs* args, bool with_stamps);

 private:
  /// NCCL's own, of all its communicators.
  struct Mask {
    int* place;
    int types;
    int communicators;
  };
  void set(const Mask& mask) const;
  void set_masks(bool is_enabled);
  [[nodiscard]] OpenEvent* take_place(uint64_t& handle);
  [[nodiscard]] uint32_t expected_parts(const Event& event) const;
  void join_parent(Event& event);
  void leave(uint64_t handle, OpenEvent& open);
  void record_phase(const OpenEvent& open, uint64_t handle, int64_t end_ns);
  [[nodiscard]] profiler::Record describe(const OpenEvent& open, uint64_t handle) const;

  std::mutex mutex_;  ///< for what follows
  std::list<Communicator> communicators_;
  std::vector<Mask> masks_;
  bool is_enabled_ = false;

  OpenEvents open_;
  std::atomic<uint64_t> events_ = 0;
  std::atomic<uint64_t> dropped_ = 0;
};

/// The types that are wanted of a version that knows `known`: those of NCCL_PROFILE_EVENT_MASK, as
/// for other plugins, else all but single transfers and the phases of kernels.
[[nodiscard]] int wanted_types(int known);

}  // namespace redline::nccl
