// The thread that turns what CUPTI has handed over into records, while the caller asks CUPTI for
// more: so CUPTI gets its buffers back in time, however far the trace's writer is behind.
//
// Where buffers get scarce, what they hold waits on disk. A burst of a million launches on a busy
// machine is so recorded whole, in no more memory.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "profiler/cupti/activities.h"
#include "profiler/cupti/buffer_pool.h"
#include "profiler/cupti/cupti_clock.h"
#include "profiler/cupti/record_spool.h"

namespace redline::cupti {

class ActivityReader {
 public:
  /// Spools into `folder`.
  ActivityReader(const Library& library, BufferPool& pool, Activities activities,
                 std::string folder)
      : library_(library),
        pool_(pool),
        activities_(std::move(activities)),
        spool_(std::move(folder)) {}

  ~ActivityReader() {
    if (thread_) finish();
  }
  ActivityReader(const ActivityReader&) = delete;
  ActivityReader& operator=(const ActivityReader&) = delete;

  /// False where the system has no thread left.
  [[nodiscard]] bool start();
  /// Takes what is filled now. `is_flushed`: nothing older is left in CUPTI.
  void add_filled(bool is_flushed);
  /// The same, without a question to CUPTI, which needs no buffer any more.
  void add_last();
  /// After all is added: all of it is read, and the thread has ended.
  void finish();

  /// Of what is read so far.
  struct Progress {
    uint64_t timed = 0;
    uint64_t incomplete = 0;
  };
  [[nodiscard]] Progress progress() const { return {timed_, incomplete_}; }

  /// After finish().
  [[nodiscard]] const Activities& activities() const { return activities_; }
  [[nodiscard]] uint64_t spooled_bytes() const { return spooled_bytes_; }

 private:
  /// The buffers that one flush brought, or some of them.
  struct Round {
    std::vector<BufferPool::Filled> buffers = {};
    std::optional<RecordSpool::Extent> on_disk = {};  ///< in place of the buffers
    DecodeCounts counts = {};                         ///< of what is on disk
    bool is_flushed = false;
    std::optional<ClockReading> clock = {};  ///< of the first round of a flush
  };

  void clear_what_is_read();
  void put_on_disk(Round& round);
  void give_back(Round& round);
  void push(Round round);
  [[nodiscard]] std::optional<Round> pop();
  void run();
  void read(const Round& round);

  const Library& library_;
  BufferPool& pool_;
  Activities activities_;  ///< the thread's, until it ends
  RecordSpool spool_;

  // Of who adds.
  std::vector<uint8_t> compacted_;
  bool is_disk_full_ = false;
  uint64_t spooled_bytes_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Round> rounds_;  // under mutex_, as what follows
  bool is_reading_ = false;
  bool is_closed_ = false;

  std::vector<uint8_t> read_from_disk_;  ///< the thread's
  std::atomic<uint64_t> timed_ = 0;
  std::atomic<uint64_t> incomplete_ = 0;
  std::optional<std::thread> thread_;
};

}  // namespace redline::cupti
