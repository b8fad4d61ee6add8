// One recorded window, from warm-up to a trace on disk, and the writer thread that makes it.
//
// The thread is never woken by full chunks, which would cost training threads a system call each.
// It looks every 20 ms whether the memory fills, and works at that or after 250 ms: a short window
// is formatted after its last step, not during it.
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

namespace redline::profiler {

class Window {
 public:
  Window(ThreadRegistry& threads, ChunkPool& pool, TextTable& texts)
      : threads_(threads), pool_(pool), texts_(texts) {}
  /// Gives up what was not ended.
  ~Window() { discard(); }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  /// Starts the writer thread: records are taken from the logs and thrown away. False where the
  /// system has no thread left.
  [[nodiscard]] bool begin_warmup();
  /// From now on records that begin at options.begin_ns or later are written.
  void begin(AssemblerOptions options);
  /// The thread writes what is left, `entries` last, and ends; training goes on meanwhile.
  void end(int64_t end_ns, std::vector<trace::Entry> entries);
  /// Ends the thread; the spooled file is removed.
  void discard();

  /// After end(), as often as wanted. The calling thread must block signals (quiet_thread.h).
  [[nodiscard]] tl::expected<void, std::string> save(const std::string& path);
  /// After end(): until the thread has ended.
  void wait();

  struct Counts {
    uint64_t recorded = 0;  ///< events in the file
    uint64_t dropped = 0;   ///< events that found no memory, or no room on the disk
    uint64_t bytes = 0;
    uint64_t threads = 0;
  };
  [[nodiscard]] Counts counts() const;

 private:
  static constexpr int64_t kNotBegun = std::numeric_limits<int64_t>::max();

  void run();
  void close(bool keep);
  void round();
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
  bool keep_ = false;     // under mutex_
  std::atomic<int64_t> begin_ns_ = kNotBegun;
  AssemblerOptions options_;  // written before begin_ns_, read after it
  int64_t end_ns_ = 0;        // before closing_
  std::vector<trace::Entry> entries_;

  std::atomic<uint64_t> recorded_ = 0;
  std::atomic<uint64_t> dropped_ = 0;
  std::atomic<uint64_t> bytes_ = 0;
  std::atomic<uint64_t> thread_count_ = 0;

  // The writer thread's own; everyone's after it ended.
  std::optional<Assembler> assembler_;
  std::string error_;
  uint64_t on_disk_ = 0;  ///< events
  int64_t round_ns_ = 0;  ///< when the last round began
  int64_t next_flush_ns_ = 0;
  std::vector<ThreadLog*> logs_;
  std::map<uint64_t, std::string> seen_threads_;  ///< tid and name of threads with events
  std::unordered_map<const ThreadLog*, Record> last_read_;
  UnfinishedSlices unfinished_;
  uint64_t unfinished_written_ = 0;

  std::optional<std::thread> thread_;
};

}  // namespace redline::profiler
