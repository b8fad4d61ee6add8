// One recorded window, from warm-up to the trace on disk, and the writer thread that writes it.
//
//   begin_warmup()   the thread starts; it empties the logs and throws the records away
//   begin()          records that begin from now on are written
//   end()            the thread writes the records that are left and ends; training goes on
//   complete()       waits for the thread, and tells whether it failed
//   save()           does that, then completes the file; as often as wanted
//
// Records are formatted and compressed into a spooled file while the window lasts, since a long
// window does not fit into memory.
//
// The writer thread must disturb training as little as possible. So full chunks do not wake it,
// which would cost the training thread a system call each; it looks every 20 ms how full the memory
// is, and drains the logs if a quarter is in use, or when its plan says so.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <tl/expected.hpp>
#include <unordered_map>
#include <vector>

#include "profiler/log/open_slices.h"
#include "profiler/log/thread_log.h"
#include "profiler/write/assembler.h"
#include "profiler/write/round_plan.h"

namespace redline::profiler {

class Window {
 public:
  Window(ThreadRegistry& threads, ChunkPool& pool, TextTable& texts)
      : threads_(threads), pool_(pool), texts_(texts) {}
  /// Ends the thread. What an error has cut short stays on the disk, if it was not discarded.
  ~Window() { end_thread(); }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  /// Starts the writer thread. False if the system cannot start one.
  [[nodiscard]] bool begin_warmup();
  /// From now on records that begin at options.begin_ns or later are written.
  void begin(AssemblerOptions options);
  /// Lets the thread write the records that are left, then `entries`, and end. Does not wait for
  /// it.
  void end(int64_t end_ns, std::vector<trace::Entry> entries);
  /// Ends the thread and removes the spooled file.
  void discard();

  /// After end(), as often as wanted. The calling thread must block signals (quiet_thread.h).
  [[nodiscard]] tl::expected<void, std::string> save(const std::string& path);
  /// After end(): waits for the thread. Fails if there is nothing to save.
  [[nodiscard]] tl::expected<void, std::string> complete();
  /// After end(): returns when the thread has ended.
  void wait();
  /// After wait(): whether nothing but samples of the machine was recorded.
  [[nodiscard]] bool has_only_samples() const {
    return dropped_ == 0 && (!assembler_ || assembler_->has_only_samples());
  }

  struct Counts {
    uint64_t recorded = 0;  ///< events in the file
    uint64_t dropped = 0;   ///< events that found no memory, or no room on the disk
    uint64_t bytes = 0;
    uint64_t threads = 0;
  };
  [[nodiscard]] Counts counts() const;

 private:
  void end_thread();
  static constexpr int64_t kNotBegun = std::numeric_limits<int64_t>::max();

  void run();
  void close(bool keep);
  void round();
  [[nodiscard]] bool is_short_of_texts() const;
  void open();
  void drain(ThreadLog& log);
  void add(const Record& record, const ThreadLog& log);
  void see_thread(uint64_t tid, const ThreadLog& log);
  void find_unfinished();
  void write_unfinished();
  void finish();
  void check_disk();
  void fail(const std::string& why);
  [[nodiscard]] TraceSummary summary() const;

  ThreadRegistry& threads_;
  ChunkPool& pool_;
  TextTable& texts_;

  std::mutex mutex_;
  std::condition_variable wake_;
  bool closing_ = false;  // under mutex_
  bool keep_ = false;     // under mutex_: write the records that are left instead of dropping them
  std::atomic<int64_t> begin_ns_ = kNotBegun;
  AssemblerOptions options_;  // the caller writes it before it stores begin_ns_
  int64_t end_ns_ = 0;        // the caller writes it before it sets closing_
  std::vector<trace::Entry> entries_;

  std::atomic<uint64_t> recorded_ = 0;
  std::atomic<uint64_t> dropped_ = 0;
  std::atomic<uint64_t> bytes_ = 0;
  std::atomic<uint64_t> thread_count_ = 0;

  // For the writer thread only, until it has ended; then for the caller of save() and discard().
  std::optional<Assembler> assembler_;
  std::string error_;
  uint64_t on_disk_ = 0;  ///< events that are surely on the disk
  RoundPlan plan_;
  bool are_older_texts_needed_ = false;  ///< by slices that were open when their generation ended
  int64_t flushed_ns_ = 0;               ///< what ended before is in the file
  std::vector<ThreadLog*> logs_;
  std::map<uint64_t, std::string> seen_threads_;  ///< tid and name of threads with events
  std::unordered_map<const ThreadLog*, Record> last_read_;
  UnfinishedSlices unfinished_;
  uint64_t unfinished_written_ = 0;

  std::optional<std::thread> thread_;
};

}  // namespace redline::profiler
