// A thread that turns CUPTI's buffers into our records while the caller asks CUPTI for more. So
// CUPTI gets its buffers back in time, however far the trace's writer is behind.
//
// When buffers get scarce, their content waits on disk. So even a burst of a million launches on a
// busy machine is recorded completely, and takes no more memory.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <semaphore>
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
  /// `folder` is for the file of records that wait on disk.
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

  /// False if the system has no thread left.
  [[nodiscard]] bool start();
  /// Takes the buffers that are filled now. `is_flushed` says that CUPTI holds no older records.
  void add_filled(bool is_flushed);
  /// Takes the filled buffers without a call of CUPTI, for the end of the process.
  void add_last();
  /// Delivers also the annotations that may get more work, once everything added is read. Waits
  /// until then, but two seconds at most: a job that has crashed waits with it.
  void deliver_annotations();
  /// Waits until everything added is read and the thread has ended. Nothing may be added later.
  void finish();

  /// Records that were read so far, with and without their times.
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
    DecodeCounts counts = {};                         ///< of the records on disk
    bool is_flushed = false;
    bool wants_annotations = false;          ///< there are no buffers
    std::optional<ClockReading> clock = {};  ///< only in the first round of a flush
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
  Activities activities_;  ///< only for the thread until it ends
  RecordSpool spool_;

  // Only for the thread that calls add_filled().
  std::vector<uint8_t> compacted_;
  bool is_disk_full_ = false;
  uint64_t spooled_bytes_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Round> rounds_;  ///< under mutex_
  bool is_reading_ = false;   ///< under mutex_
  bool is_closed_ = false;    ///< under mutex_

  std::vector<uint8_t> read_from_disk_;  ///< only for the thread
  std::atomic<uint64_t> timed_ = 0;
  std::atomic<uint64_t> incomplete_ = 0;
  std::counting_semaphore<> delivered_{0};
  std::optional<std::thread> thread_;
};

}  // namespace redline::cupti
