// The GPU as a source of the recorder: CUPTI is switched on at prepare and off at stop, and a
// thread of the recorder turns what it fills into records meanwhile. In a process that does not use
// CUDA yet, or where CUPTI does not start, that thread tries again until the window ends.
//
// CUPTI's calls are made without a lock that its callbacks take. No call waits for the GPU: that
// would end the capture of a CUDA graph in another thread, and never return where a GPU hangs.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
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
#include "profiler/source/source.h"

namespace redline::cupti {

/// What CUPTI's callbacks, the operators that push ids, and the window share. CUPTI may call as
/// long as the process lives, so it is never destroyed.
struct SharedState {
  BufferPool pool;
  AnnotationNames annotations;
  CollectiveNotes collectives;
  std::atomic<bool> may_refuse = false;  ///< CUPTI survives a request for a buffer that gets none
  /// The table of functions while operators' ids are wanted, else nullptr.
  std::atomic<const Library*> ids = nullptr;
  /// The same from then on for ever: what was pushed must be popped, also after the window's end.
  std::atomic<const Library*> pops = nullptr;
};

[[nodiscard]] SharedState& shared_state();

class CuptiSource final : public profiler::Source {
 public:
  /// That a window's end waits for work which is under way.
  static constexpr std::chrono::milliseconds kMostWaitForGpu{10'000};

  explicit CuptiSource(std::chrono::milliseconds most_wait = kMostWaitForGpu)
      : most_wait_(most_wait) {}

  void enable(const RecorderOptions& options) noexcept override;
  void disable() noexcept override;
  /// The process is about to end, and CUDA still works: all that CUPTI holds is recorded.
  void flush_before_exit() noexcept;
  /// The process ends: CUDA may be half gone, so CUPTI is not asked for anything any more; what it
  /// has handed over is recorded.
  void let_go() noexcept;

  /// The window's end waits for work that may never end, such as a collective whose peer is gone.
  [[nodiscard]] bool waits_for_gpus() const { return waits_for_gpus_; }
  /// The process is to end: a window's end waits no longer.
  void hurry() noexcept;

  /// Where records wait that come too fast, from the next window on.
  void spool_into(std::string folder) { folder_ = std::move(folder); }

  /// Why nothing can be recorded, as a line for the user.
  [[nodiscard]] static std::string explain(const Library& library, Result result);

 private:
  /// What a user is told once in the life of a process.
  enum Topic : uint8_t { kOff = 1, kFlush = 2, kGraphs = 4, kIncomplete = 8, kThreadIds = 16 };

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
  void look_for_surge();
  void wait_for_gpu();
  void collect_rest() noexcept;
  void refuse(const std::string& why);
  void warn(Topic topic, const std::string& why);
  void add_entries();
  [[nodiscard]] std::string counts_json() const;

  const std::chrono::milliseconds most_wait_;
  std::optional<Library> library_;
  Subscription subscription_;
  std::string folder_ = "/tmp";
  uint8_t said_ = 0;  ///< topics
  bool has_system_thread_ids_ = true;
  std::vector<Kind> enabled_;
  std::string off_before_;  ///< why CUPTI did not start at first
  uint64_t refused_before_ = 0;
  uint64_t foreign_before_ = 0;
  size_t out_before_ = 0;          ///< buffers that CUPTI did not give back after an earlier window
  ActivityReader::Progress seen_;  ///< when a surge was looked for
  uint64_t surges_ = 0;
  uint64_t dropped_ = 0;
  std::atomic<Result> failed_flush_ = kSuccess;  ///< what the last one that failed said
  DeviceTable devices_;
  std::unique_ptr<ActivityReader> reader_;  ///< within a window
  std::atomic<bool> is_on_ = false;         ///< CUPTI is
  std::atomic<bool> is_closing_ = false;
  std::atomic<bool> is_hurried_ = false;
  std::optional<std::thread> thread_;  ///< asks CUPTI for what it has
  std::binary_semaphore is_over_{0};   ///< the thread has left its loop
  std::atomic<bool> wants_flush_ = false;
  std::binary_semaphore is_flushed_{0};
  std::atomic<bool> waits_for_gpus_ = false;
};

}  // namespace redline::cupti
