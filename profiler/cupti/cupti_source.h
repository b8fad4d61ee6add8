// The GPU as a source of the recorder: CUPTI is switched on at prepare and off at stop, and a
// thread of the recorder turns what it fills into records meanwhile.
//
// CUPTI's calls are made without a lock that its callbacks take.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>
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
  void enable(const RecorderOptions& options) noexcept override;
  void disable() noexcept override;
  /// The process is about to end, and CUDA still works: all that CUPTI holds is recorded.
  void flush_before_exit() noexcept;
  /// The process ends: CUDA may be half gone, so CUPTI is not asked for anything any more; what it
  /// has handed over is recorded.
  void let_go() noexcept;

  /// The window's end waits for work that may never end, such as a collective whose peer is gone.
  [[nodiscard]] bool waits_for_gpus() const { return waits_for_gpus_; }

  /// Where records wait that come too fast, from the next window on.
  void spool_into(std::string folder) { folder_ = std::move(folder); }

  /// Why nothing can be recorded, as a line for the user.
  [[nodiscard]] static std::string explain(const Library& library, Result result);

 private:
  void begin(const RecorderOptions& options);
  void end();
  void leave_cupti();
  [[nodiscard]] Result set_up();
  [[nodiscard]] Result enable_kinds(const RecorderOptions& options);
  void leave_out_noise();
  void configure_unified_memory();
  void disable_kinds();
  void run(ActivityReader& reader);
  void stop_thread();
  void collect(ActivityReader& reader, uint32_t flush_flags);
  void collect_rest() noexcept;
  void refuse(const std::string& why);
  void warn(const std::string& why);
  void add_entries();

  std::optional<Library> library_;
  Subscription subscription_;
  std::string folder_ = "/tmp";
  bool has_warned_ = false;
  bool gives_zeroed_buffers_ = false;  ///< as CUPTI was told
  std::vector<Kind> enabled_;
  uint64_t refused_before_ = 0;
  uint64_t dropped_ = 0;
  std::atomic<Result> failed_flush_ = kSuccess;  ///< what the last one that failed said
  DeviceTable devices_;
  std::unique_ptr<ActivityReader> reader_;  ///< within a window
  std::atomic<bool> is_closing_ = false;
  std::optional<std::thread> thread_;  ///< asks CUPTI for what it has
  std::binary_semaphore is_over_{0};   ///< the thread has left its loop
  std::atomic<bool> wants_flush_ = false;
  std::binary_semaphore is_flushed_{0};
  std::atomic<bool> waits_for_gpus_ = false;
};

}  // namespace redline::cupti
