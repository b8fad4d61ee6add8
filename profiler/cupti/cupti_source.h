// The GPU as a source of the recorder. CUPTI is switched on at prepare and off at stop; meanwhile a
// thread of the recorder collects CUPTI's buffers. If the process does not use CUDA yet, or CUPTI
// does not start, that thread tries again until the window ends.
//
// We never call CUPTI while we hold a lock that its callbacks take. No call waits for the GPU: that
// would end the capture of a CUDA graph in another thread, and never return if a GPU hangs.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>
#include <tl/expected.hpp>
#include <vector>

#include "profiler/cupti/activity_reader.h"
#include "profiler/cupti/buffer_pool.h"
#include "profiler/cupti/collective_notes.h"
#include "profiler/cupti/cupti_library.h"
#include "profiler/cupti/device_table.h"
#include "profiler/cupti/gpu_annotations.h"
#include "profiler/cupti/teardown.h"
#include "profiler/source/source.h"

namespace redline::cupti {

/// The state that CUPTI's callbacks, the operators that push ids, and the window share. It is never
/// destroyed, because CUPTI may call back as long as the process lives.
struct SharedState {
  BufferPool pool;
  AnnotationNames annotations;
  CollectiveNotes collectives;
  std::atomic<bool> may_refuse = false;  ///< CUPTI does not crash if it asks for a buffer in vain
  /// CUPTI's functions while the ids of operators are wanted, otherwise nullptr.
  std::atomic<const Library*> ids = nullptr;
  /// CUPTI's functions, from the first window on for ever: an id that was pushed within a window
  /// must be popped, even after that window's end.
  std::atomic<const Library*> pops = nullptr;
};

[[nodiscard]] SharedState& shared_state();

class CuptiSource final : public profiler::Source {
 public:
  /// At the end of a window, the recorder waits so long for GPU work that still runs.
  static constexpr std::chrono::milliseconds kMostWaitForGpu{10'000};

  explicit CuptiSource(std::chrono::milliseconds most_wait = kMostWaitForGpu)
      : most_wait_(most_wait) {}

  void enable(const RecorderOptions& options) noexcept override;
  void disable() noexcept override;
  /// Records all that CUPTI holds. To be called when the process is about to end, but CUDA still
  /// works.
  void flush_before_exit() noexcept;
  /// Another tool in this process is about to give CUPTI its own buffers. From then on CUPTI would
  /// hand over ours to that tool, and the records in them would be lost to both. So this takes all
  /// that CUPTI holds, and the rest of the window has no GPU work.
  void give_up(const std::string& tool) noexcept;
  /// Delivers what waits for more work, because a flight recorder is about to write its trace.
  void deliver_for_ring() noexcept;
  /// Records what CUPTI has handed over, without a call of CUPTI or of the driver. To be called
  /// when the process ends and CUDA may be half destroyed. A call that is under way may hang; it is
  /// waited for until then.
  void let_go(std::chrono::steady_clock::time_point until) noexcept;

  /// Whether a window is ending and waits for GPU work. Such work may never end, for example a
  /// collective whose peer is gone.
  [[nodiscard]] bool waits_for_gpus() const { return waits_for_gpus_; }
  /// Ends that wait, because the process has to end.
  void hurry() noexcept;

  /// From the next window on, records that come faster than they are read wait in `folder`.
  void spool_into(std::string folder) { folder_ = std::move(folder); }

  /// Says in one line for the user why nothing can be recorded.
  [[nodiscard]] static std::string explain(const Library& library, Result result);

 private:
  /// Warnings that a user gets at most once in the life of a process.
  enum Topic : uint8_t {
    kOff = 1,
    kFlush = 2,
    kGraphs = 4,
    kIncomplete = 8,
    kThreadIds = 16,
    kGivenUp = 32
  };

  [[nodiscard]] bool try_to_begin(const RecorderOptions& options);
  [[nodiscard]] tl::expected<void, std::string> begin(const RecorderOptions& options);
  [[nodiscard]] bool begin_later(const RecorderOptions& options);
  void end();
  void leave_cupti();
  [[nodiscard]] Result set_up();
  [[nodiscard]] Result enable_kinds(const RecorderOptions& options);
  void leave_out_noise();
  void configure_unified_memory();
  void disable_kinds();
  void run(const RecorderOptions& options, bool is_on) noexcept;
  void collect_until_end();
  void stop_thread();
  void collect(uint32_t flush_flags);
  void collect_if_ours(bool is_forced);
  void switch_off_and_collect();
  void look_for_surge();
  void wait_for_gpu();
  void collect_rest() noexcept;
  void say_off(const std::string& why);  ///< in the trace
  void refuse(const std::string& why);   ///< on stderr, too
  void warn(Topic topic, const std::string& why);
  void add_counts(bool is_over);
  void add_known_entries();
  void add_device_entries(DeviceTable& devices);
  [[nodiscard]] std::string counts_json(bool is_over) const;

  const std::chrono::milliseconds most_wait_;
  std::optional<Library> library_;
  Subscription subscription_;
  Teardown teardown_;
  std::string folder_ = "/tmp";
  uint8_t said_ = 0;  ///< the topics of which the user was told
  bool has_system_thread_ids_ = true;
  std::vector<Kind> enabled_;
  std::string off_before_;  ///< why CUPTI did not start at first
  std::string off_after_;   ///< why the end of the window has no GPU work
  std::mutex collecting_;   ///< held while CUPTI is asked for records, or given up
  uint64_t refused_before_ = 0;
  uint64_t foreign_before_ = 0;
  size_t out_before_ = 0;          ///< buffers that CUPTI did not give back after an earlier window
  ActivityReader::Progress seen_;  ///< when we last compared timed and incomplete records
  uint64_t surges_ = 0;
  uint64_t dropped_ = 0;
  std::atomic<Result> failed_flush_ = kSuccess;  ///< the error of the last flush that failed
  bool is_unanswered_ = false;                   ///< a flush hangs while the process ends
  DeviceTable devices_;                          ///< only for the reader's thread until it ends
  DeviceTable told_devices_;                     ///< for who asks CUPTI for records
  bool has_ring_ = false;
  std::unique_ptr<ActivityReader> reader_;  ///< within a window
  std::atomic<bool> is_on_ = false;         ///< CUPTI is switched on, or was given up
  std::atomic<bool> is_closing_ = false;
  std::atomic<bool> is_hurried_ = false;
  std::optional<std::thread> thread_;  ///< asks CUPTI for its records
  std::binary_semaphore is_over_{0};   ///< the thread has left its loop
  std::atomic<bool> wants_flush_ = false;
  std::binary_semaphore is_flushed_{0};
  std::atomic<bool> waits_for_gpus_ = false;
};

}  // namespace redline::cupti
