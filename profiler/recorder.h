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

#include "profiler/chunk_pool.h"
#include "profiler/options.h"
#include "profiler/source.h"
#include "profiler/text_table.h"
#include "profiler/thread_log.h"
#include "profiler/window.h"

namespace redline::profiler {

using Result = tl::expected<void, std::string>;

class Recorder {
 public:
  [[nodiscard]] static Recorder& instance();

  [[nodiscard]] Result prepare(const Options& options);
  [[nodiscard]] Result start();
  [[nodiscard]] Result stop();
  [[nodiscard]] Result discard();
  [[nodiscard]] Result save(const std::string& path);
  /// Gives the path.
  [[nodiscard]] tl::expected<std::string, std::string> save_in(const std::string& directory);
  [[nodiscard]] Result add_metadata(const std::string& key, const std::string& json);
  [[nodiscard]] Window::Counts counts();
  void add_source(Source* source);
  void add_source_entry(const std::string& key, const std::string& json);
  /// The process ends: a window with a directory is completed there, any other given up.
  void finish();

  // Hot path, from any thread.
  [[nodiscard]] bool recording() const { return recording_.load(std::memory_order_relaxed); }
  [[nodiscard]] TextId intern(std::string_view text, TextForm form);
  void submit(const Record& record);

 private:
  enum class State { kIdle, kPrepared, kRecording, kStopped };

  Recorder();
  [[nodiscard]] Result refuse_in_child() const;
  [[nodiscard]] std::vector<trace::Entry> header() const;
  [[nodiscard]] ThreadLog& this_thread_log();
  void end_window(int64_t end_ns);
  [[nodiscard]] Result write_window(const std::string& path);
  void enable_sources();
  void disable_sources();

  std::atomic<bool> recording_ = false;  ///< records are wanted: prepared or recording
  std::atomic<bool> is_child_ = false;
  ChunkPool pool_;
  TextTable texts_;
  ThreadRegistry threads_{pool_};

  // Sources add entries from within enable() and disable(), so under a lock of their own.
  std::mutex source_entries_mutex_;
  std::vector<trace::Entry> source_entries_;

  std::mutex mutex_;  ///< for all below
  State state_ = State::kIdle;
  bool saved_ = false;  ///< the stopped window, at least once
  Options options_;
  std::vector<Source*> sources_;
  std::vector<trace::Entry> metadata_;      ///< of the process, in order
  std::vector<trace::Entry> new_metadata_;  ///< added since the window's header was written
  std::unique_ptr<Window> window_;
};

/// "{host}_{pid}.{unix ns}.pt.trace.json.gz", the name that TensorBoard's plugin looks for.
[[nodiscard]] std::string default_trace_name();

}  // namespace redline::profiler
