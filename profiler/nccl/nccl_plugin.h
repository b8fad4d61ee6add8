// NCCL's profiler plugin as a source of the recorder, for all versions of the interface
// (nccl_abi.h).
//
// NCCL calls from its own threads and from the job's. A lock or memory is taken only for a new
// communicator, and nothing is done while no window is recorded; but where the launcher wants to
// know who hangs, each collective is listed (entered_list.h), under a lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <mutex>
#include <vector>

#include "profiler/nccl/communicator.h"
#include "profiler/nccl/entered_list.h"
#include "profiler/nccl/open_events.h"
#include "profiler/source/source.h"

namespace redline::nccl {

class NcclPlugin final : public profiler::Source {
 public:
  /// The plugin, which is made for the first communicator and never destroyed.
  [[nodiscard]] static NcclPlugin& instance();

  void enable(const RecorderOptions& options) noexcept override;
  /// Records the events that are still open as not finished, and closes them.
  void disable() noexcept override;

  /// NCCL makes a communicator. We keep it for ever, because other threads may have open events
  /// when it ends. From now on *mask, which NCCL reads at each call, asks for events of `types`
  /// within windows and for none outside, because events cost time; for what the list of entered
  /// collectives needs, if there is one.
  [[nodiscard]] Communicator& add_communicator(int types, int* mask);
  /// NCCL ends a communicator. After the last one its library may be unloaded, and *mask with it.
  void end_communicator(const Communicator& communicator);

  [[nodiscard]] EnteredList& entered() { return entered_; }
  /// Whether events are wanted at this moment.
  [[nodiscard]] bool is_listening() const;
  /// Begins an event and gives its handle, or 0 if it is not recorded.
  [[nodiscard]] uint64_t begin(const Event& event);
  void end(uint64_t handle);
  /// `with_stamps` says that this version of the interface gives time stamps of the GPU, and the
  /// bytes of proxy steps.
  void change(uint64_t handle, EventState state, const StateArgs* args, bool with_stamps);

 private:
  /// A mask of NCCL. All communicators of one NCCL library share it.
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
  void submit(OpenEvent& open, uint64_t handle);
  [[nodiscard]] profiler::Record describe(const OpenEvent& open, uint64_t handle) const;

  std::mutex mutex_;  ///< for the next four members
  std::list<Communicator> communicators_;
  std::vector<Mask> masks_;
  bool is_enabled_ = false;
  bool is_list_known_ = false;

  OpenEvents open_;
  std::atomic<bool> is_listing_ = false;  ///< of entered collectives
  EnteredList entered_;
  std::atomic<uint64_t> events_ = 0;
  std::atomic<uint64_t> dropped_ = 0;
};

/// The types of events that we want from a version of NCCL that knows the types `known`: those of
/// NCCL_PROFILE_EVENT_MASK, which other plugins read, too; without it all types but those that come
/// in great numbers (proxy steps and threads, the network plugin, phases of kernels).
[[nodiscard]] int wanted_types(int known);

}  // namespace redline::nccl
