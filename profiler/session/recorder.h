// The recorder of this process: the states behind c_api.h.
//
// It lives as long as the process and is never destroyed, since threads of the job may record until
// the very end. In a forked child it is dead: its writer thread does not exist there and its file
// is the parent's.
#pragma once

#include <atomic>
#include <cstdint>
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
#include "profiler/source/clock_pair.h"
#include "profiler/source/source.h"
#include "profiler/write/window.h"

namespace redline::cupti {
class CuptiSource;
}

namespace redline::profiler {

using Result = tl::expected<void, std::string>;

/// Whose window it is: each has one, and at most one of them is prepared or recorded at a time.
enum class Owner : uint8_t {
  kProgram,  ///< the program's own, its front end's, or `redline record`'s
  kDemand,   ///< a capture that somebody outside asked for; gives way to the program's
};

/// Of the recorder's mutex: who has one, has it locked. What takes one only works under the lock.
using RecorderLock = std::lock_guard<std::mutex>;

class Recorder {
 public:
  [[nodiscard]] static Recorder& instance();

  [[nodiscard]] Result prepare(const Options& options, Owner owner = Owner::kProgram);
  [[nodiscard]] Result start(Owner owner = Owner::kProgram);
  [[nodiscard]] Result stop(Owner owner = Owner::kProgram);
  [[nodiscard]] Result discard(Owner owner = Owner::kProgram);
  [[nodiscard]] Result save(const std::string& path, Owner owner = Owner::kProgram);
  /// Gives the path.
  [[nodiscard]] tl::expected<std::string, std::string> save_in(const std::string& directory,
                                                               Owner owner = Owner::kProgram);
  /// Why the window is recorded, into its trace.
  void set_reason(const std::string& reason, Owner owner);
  [[nodiscard]] Result add_metadata(const std::string& key, const std::string& json);
  [[nodiscard]] Window::Counts counts();
  /// Between the begin of warm-up and the end of a window; without effect outside.
  void set_paused(bool paused);
  void add_source(Source* source);
  /// Before CUDA ends in this process: what CUPTI holds is taken from it.
  void flush_gpu() noexcept;
  void add_source_entry(const std::string& key, const std::string& json);
  /// A trace of the flight recorder's last seconds, into `directory` or else the window's: its
  /// path.
  [[nodiscard]] tl::expected<std::string, std::string> write_ring(
      const std::string& reason, const std::string& directory = "");
  /// The same for a slow step that nobody has written yet, if there is one.
  void write_slow_step();
  [[nodiscard]] bool has_ring();
  /// The process ends: a window with a directory is completed there, any other given up. A flight
  /// recorder writes only for a `reason`, such as a crash.
  void finish(const std::string& reason = "");

  [[nodiscard]] Capture& capture() { return capture_; }
  [[nodiscard]] JobSteps& steps() { return steps_; }
  /// Not in a forked child, nor once the process ends.
  [[nodiscard]] Result check_alive() const;
  [[nodiscard]] bool is_alive() const { return !is_child_ && !is_over_; }

  // Hot path, from any thread.
  [[nodiscard]] bool recording() const { return recording_.load(std::memory_order_relaxed); }
  [[nodiscard]] TextId intern(std::string_view text, TextForm form);
  [[nodiscard]] TextId intern_as(uint64_t key, std::string_view json);
  [[nodiscard]] TextId known(uint64_t key);
  void submit(const Record& record);
  /// `record` lacks its end.
  [[nodiscard]] OpenSlice* begin_slice(const Record& record);
  [[nodiscard]] BegunSlice begin_slice(OpenSlice::Fields fields, std::string_view name);
  void end_slice(OpenSlice* slice, const Record& record);
  void drop_slice(OpenSlice* slice);
  [[nodiscard]] uint64_t current_operator();
  /// From a source's own thread, which may wait.
  void deliver(const Record& record);
  [[nodiscard]] uint32_t name_generation() const { return texts_.generation(); }

 private:
  enum class State { kIdle, kPrepared, kRecording, kStopped };

  struct Session {
    State state = State::kIdle;
    bool saved = false;  ///< the stopped window, at least once
    Options options;
    std::string reason;
    ClockPair clock_at_begin;
    std::vector<trace::Entry> new_metadata;  ///< added since the window's header was written
    std::unique_ptr<Window> window;
    std::unique_ptr<FlightRecorder> flight;  ///< in its place, where options.ring_seconds > 0

    [[nodiscard]] bool is_live() const {
      return state == State::kPrepared || state == State::kRecording;
    }
  };

  Recorder();
  /// The only way to a session, so that whoever has one is under the lock.
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
  void enable_sources(const RecorderLock&, const RecorderOptions& options);
  void disable_sources(const RecorderLock&);
  [[nodiscard]] bool lock_unless_gpus_hang();

  /// Records are wanted: prepared or recording.
  alignas(64) std::atomic<bool> recording_ = false;
  std::atomic<bool> is_stopped_ = false;  ///< what is open stays to be seen by the writer thread
  std::atomic<bool> is_child_ = false;
  std::atomic<bool> is_over_ = false;     ///< the process ends
  std::atomic<bool> is_drained_ = false;  ///< by a writer thread, so that memory becomes free
  TextTable texts_;
  ChunkPool pool_;
  ThreadRegistry threads_{pool_};

  // Sources add entries from within enable() and disable(), so under a lock of their own.
  std::mutex source_entries_mutex_;
  std::vector<trace::Entry> source_entries_;

  std::mutex mutex_;  ///< for all below
  Session sessions_[2];
  HostSampler host_sampler_;
  GpuSampler gpu_sampler_;
  cupti::CuptiSource& gpu_;  ///< lives as long
  std::vector<Source*> sources_;
  std::vector<trace::Entry> metadata_;  ///< of the process, in order

  Capture capture_{*this};
  JobSteps steps_{*this};
};

/// "{host}_{pid}.{unix ns}.pt.trace.json.gz", the name that TensorBoard's plugin looks for.
[[nodiscard]] std::string default_trace_name();

[[nodiscard]] Result make_directory(const std::string& directory);

}  // namespace redline::profiler
