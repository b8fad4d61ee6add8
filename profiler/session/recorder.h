// The recorder of this process: it holds the states behind c_api.h and passes records from the
// sources to the window.
//
//   sources --submit()--> ThreadLog of the thread --writer thread--> Window or FlightRecorder
//
// There are two sessions: one for windows of the program, and one for captures that somebody
// outside asked for. Each goes idle -> prepared -> recording -> stopped. They share the logs, so at
// most one is prepared or recording; the program's window has priority and cuts a capture short. To
// record both at once, each source would have to send each event twice.
//
// The state changes only under mutex_. Functions that need the lock take a RecorderLock, which
// proves it. The hot path takes no lock: while nothing is recorded it is one relaxed load of
// recording_, otherwise a push to the thread's own log.
//
// The recorder is never destroyed, because threads of the job may record until the very end of the
// process. In a forked child it does nothing and its functions fail: the writer thread does not
// exist there, and the file belongs to the parent.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "profiler/host/host_samples.h"
#include "profiler/log/chunk_pool.h"
#include "profiler/log/text_table.h"
#include "profiler/log/thread_log.h"
#include "profiler/request/options.h"
#include "profiler/session/capture.h"
#include "profiler/session/flight_recorder.h"
#include "profiler/session/job_steps.h"
#include "profiler/session/recorder_lock.h"
#include "profiler/source/run_metadata.h"
#include "profiler/source/source.h"
#include "profiler/write/window.h"

namespace redline::cupti {
class CuptiSource;
}

namespace redline::profiler {

using Result = tl::expected<void, std::string>;

/// Who asked for a window.
enum class Owner : uint8_t {
  kProgram,  ///< the program itself, its front end, or `redline record`
  kDemand,   ///< somebody outside, by `redline trigger` or SIGUSR2: a capture
};

class Recorder {
 public:
  [[nodiscard]] static Recorder& instance();

  [[nodiscard]] Result prepare(const Options& wanted, Owner owner = Owner::kProgram);
  [[nodiscard]] Result start(Owner owner = Owner::kProgram);
  [[nodiscard]] Result stop(Owner owner = Owner::kProgram);
  [[nodiscard]] Result discard(Owner owner = Owner::kProgram);
  /// Waits until the stopped window is written. Fails if its recording failed.
  [[nodiscard]] Result complete();
  [[nodiscard]] Result save(const std::string& path, Owner owner = Owner::kProgram);
  /// Returns the trace's path.
  [[nodiscard]] tl::expected<std::string, std::string> save_in(const std::string& directory,
                                                               Owner owner = Owner::kProgram);
  /// Writes into the window's trace why it was recorded.
  void set_reason(const std::string& reason, Owner owner);
  [[nodiscard]] Result add_metadata(const std::string& key, const std::string& json);
  [[nodiscard]] Result forget_metadata();
  [[nodiscard]] Window::Counts counts();
  /// While paused, records are thrown away. Without effect unless prepared or recording.
  void set_paused(bool paused);
  void add_source(Source* source);
  /// Takes over all records that CUPTI holds. Call it before CUDA ends in this process.
  void flush_gpu() noexcept;
  void add_source_entry(const std::string& key, const std::string& json);
  /// Writes the flight recorder's last seconds to a trace in `directory` (default: the window's)
  /// and returns its path.
  [[nodiscard]] tl::expected<std::string, std::string> write_ring(
      const std::string& reason, const std::string& directory = "");
  /// Does the same for the last slow step, if its trace is not written yet.
  void write_slow_step();
  /// Does the same for a SIGTERM after which the job goes on, if a flight recorder runs.
  void write_termination();
  [[nodiscard]] bool has_ring();
  /// To be called when the process ends. It completes a window that has a directory, and discards
  /// any other. A flight recorder writes its trace only if there is a `reason`, such as a crash.
  void finish(const std::string& reason = "");
  /// See gpu_work.h.
  void give_up_gpu(const char* tool) noexcept;

  [[nodiscard]] Capture& capture() { return capture_; }
  [[nodiscard]] JobSteps& steps() { return steps_; }
  /// Gives an error in a forked child, when the process is ending, and within another call of this
  /// thread: a signal handler of the job has come there.
  [[nodiscard]] Result check_alive() const;
  [[nodiscard]] bool is_alive() const { return !is_child_ && !is_over_; }

  // Hot path, from any thread.
  [[nodiscard]] bool recording() const { return recording_.load(std::memory_order_relaxed); }
  [[nodiscard]] TextId intern(std::string_view text, TextForm form);
  [[nodiscard]] TextId intern_as(uint64_t key, std::string_view json);
  [[nodiscard]] TextId known(uint64_t key);
  void submit(const Record& record);
  /// `record` has no end yet.
  [[nodiscard]] OpenSlice* begin_slice(const Record& record);
  [[nodiscard]] BegunSlice begin_slice(OpenSlice::Fields fields, std::string_view name);
  void end_slice(OpenSlice* slice, const Record& record);
  void drop_slice(OpenSlice* slice);
  [[nodiscard]] uint64_t current_operator();
  /// For a thread that a source has started: if memory is scarce, this waits for the writer thread,
  /// while submit() would drop the record.
  void deliver(const Record& record);
  [[nodiscard]] uint32_t name_generation() const { return texts_.generation(); }

 private:
  enum class State { kIdle, kPrepared, kRecording, kStopped };

  struct Session {
    State state = State::kIdle;
    bool saved = false;  ///< the stopped window was saved at least once
    Options options;
    std::string reason;
    bool has_told_of_slow_step = false;  ///< that its trace could not be written
    ClockPair clock_at_begin;
    std::vector<trace::Entry> new_metadata;  ///< added since the window's header was written
    std::unique_ptr<Window> window;
    std::unique_ptr<FlightRecorder> flight;  ///< instead of `window` if options.ring_seconds > 0

    [[nodiscard]] bool is_live() const {
      return state == State::kPrepared || state == State::kRecording;
    }
  };

  Recorder();
  /// The only way to get a session, so that it is used under the lock only.
  [[nodiscard]] Session& session(const RecorderLock&, Owner owner) {
    return sessions_[static_cast<size_t>(owner)];
  }
  [[nodiscard]] Result clear_the_way(const RecorderLock& lock, Owner owner);
  [[nodiscard]] std::vector<trace::Entry> header(const Session& session) const;
  [[nodiscard]] ThreadLog& this_thread_log();
  void stop_recording(const RecorderLock& lock, Session& session);
  void want_no_more_records();
  void end_window(Session& session, int64_t end_ns);
  [[nodiscard]] Result begin_warmup(Session& session);
  [[nodiscard]] Result begin_ring(Session& session);
  [[nodiscard]] AssemblerOptions assembler_options(const Session& session) const;
  [[nodiscard]] std::vector<trace::Entry> last_words(Session& session);
  [[nodiscard]] tl::expected<std::string, std::string> write_ring_of(
      Session& own, const std::string& reason, const std::string& directory = "");
  [[nodiscard]] Result write_ring_to(Session& session, const std::string& path);
  void write_slow_step_of(Session& own);
  void discard_window(const RecorderLock& lock, Session& session);
  [[nodiscard]] Result write_window(Session& session, const std::string& path);
  /// The trace at `path` is whole: the step log, if there is one, leads to it.
  static void note_saved(Session& session, const std::string& path);
  void write_at_end(Session& session);
  void enable_sources(const RecorderLock&, const RecorderOptions& options);
  void disable_sources(const RecorderLock&);
  [[nodiscard]] bool lock_unless_gpus_hang();

  /// Sources submit records: a session is prepared or recording.
  alignas(64) std::atomic<bool> recording_ = false;
  std::atomic<bool> is_stopped_ = false;  ///< the writer thread may still look at open slices
  std::atomic<bool> is_child_ = false;
  std::atomic<bool> is_over_ = false;     ///< the process ends
  std::atomic<bool> is_drained_ = false;  ///< a writer thread empties the logs, so waiting helps
  trace::WritePace pace_;                 ///< of windows; a flight recorder's traces must not wait
  TextTable texts_;
  ChunkPool pool_;
  ThreadRegistry threads_{pool_};

  // Sources add entries within enable() and disable(), where mutex_ is locked already.
  std::mutex source_entries_mutex_;
  std::vector<trace::Entry> source_entries_;

  RecorderMutex mutex_;  ///< for all below
  Session sessions_[2];
  /// Written by all flight recorders of the process, the oldest first.
  std::deque<std::string> slow_traces_, hang_traces_;
  HostSampler host_sampler_;
  GpuSampler gpu_sampler_;
  cupti::CuptiSource& gpu_;  ///< never destroyed, like the recorder
  std::vector<Source*> sources_;
  std::vector<trace::Entry> metadata_;  ///< of the process, in the order of the traces' keys

  Capture capture_{*this};
  JobSteps steps_{*this};
};

/// "{host}_{pid}.{unix ns}.pt.trace.json.gz", the name that TensorBoard's plugin looks for.
[[nodiscard]] std::string default_trace_name();

[[nodiscard]] Result make_directory(const std::string& directory);
/// The whole path of a folder, because the job may go to another one. "" stays.
[[nodiscard]] tl::expected<std::string, std::string> whole_path(const std::string& directory);
/// Where nobody is left to hear of an error, stderr does.
void say_not_written(const std::string& why);

/// True if the process has loaded libtorch_cpu.so.
[[nodiscard]] bool has_torch();
/// Loads the LibTorch adapter, libredline_torch.so, from the folder of libredline.so. Loading is
/// enough: the adapter adds its sources to the recorder by itself.
[[nodiscard]] Result attach_torch();

}  // namespace redline::profiler
