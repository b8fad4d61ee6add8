// Keeps the last seconds of a job in bounded memory, to write them when something happens: a slow
// step, a hang, a crash.
//
// Records stay in the chunks into which threads wrote them. A thread of the recorder takes full
// chunks out of the threads' logs, and frees the oldest when they are too old or memory gets
// scarce. Nothing is formatted until a trace is written, and recording goes on meanwhile.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <tl/expected.hpp>
#include <unordered_map>
#include <vector>

#include "base/quiet_thread.h"
#include "profiler/log/thread_log.h"
#include "profiler/write/assembler.h"

namespace redline::profiler {

class FlightRecorder {
 public:
  FlightRecorder(ThreadRegistry& threads, ChunkPool& pool, TextTable& texts, int64_t length_ns)
      : threads_(threads),
        pool_(pool),
        texts_(texts),
        length_ns_(length_ns),
        prepared_ns_(monotonic_ns()) {}
  /// Ends the recording and frees the chunks.
  ~FlightRecorder();
  FlightRecorder(const FlightRecorder&) = delete;
  FlightRecorder& operator=(const FlightRecorder&) = delete;

  /// Starts a thread that keeps the last seconds from now on and calls `look` every now and then.
  /// False if the system has no thread left.
  [[nodiscard]] bool begin(std::function<void(int64_t now_ns)> look);
  /// Adds no more records. Those that are kept can still be written.
  void end();

  /// Writes a trace of the records that are kept now to `path`, and sets options.begin_ns for that.
  /// One call at a time; the calling thread must block signals (quiet_thread.h).
  [[nodiscard]] tl::expected<void, std::string> write(AssemblerOptions options,
                                                      const std::string& path,
                                                      std::vector<trace::Entry> entries);

  /// Events of threads that were recorded since the begin, also those that are no longer kept.
  /// Leaves out samples of counters, which come while no thread does anything.
  [[nodiscard]] uint64_t recorded();

 private:
  using Thread = Assembler::Thread;
  using ThreadPtr = std::shared_ptr<const Thread>;
  struct Held {
    Chunk* chunk;
    ThreadPtr thread;
    int64_t end_ns;  ///< of its last record
  };
  struct Drop {
    int64_t at_ns;
    uint64_t records;
  };
  struct Snapshot;

  void run();
  void round();
  void collect(ThreadLog& log);
  void keep(Chunk* chunk, const ThreadPtr& thread);
  void forget_oldest(int64_t now_ns);
  void forget_front();
  [[nodiscard]] ThreadPtr owner_of(ThreadLog& log);
  [[nodiscard]] Snapshot snapshot();
  [[nodiscard]] std::string ring_members(const Snapshot& taken) const;

  ThreadRegistry& threads_;
  ChunkPool& pool_;
  TextTable& texts_;
  const int64_t length_ns_;
  const int64_t prepared_ns_;
  int64_t begin_ns_ = 0;
  std::function<void(int64_t now_ns)> look_;

  std::mutex mutex_;      ///< for all below: whoever holds it is the reader of the logs
  bool writing_ = false;  ///< a trace is being written, so no chunk may be freed
  std::deque<Held> held_;
  uint64_t kept_events_ = 0;  ///< of all chunks that were ever held
  std::deque<Drop> drops_;
  std::unordered_map<const ThreadLog*, ThreadPtr> names_;  ///< of logs in use
  int64_t complete_since_ns_ = 0;                          ///< no record after this was freed
  std::vector<ThreadLog*> logs_;

  PausingThread thread_;
};

}  // namespace redline::profiler
