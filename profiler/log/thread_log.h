// The records of one thread on their way to the writer thread.
//
// A training thread that records an event must not wait for anybody. So each thread has a log of
// its own without a lock: a linked list of chunks with one writer (the owner) and one reader (the
// writer thread).
//
//   head_ -> [full] -> [full] -> [being filled] <- tail_
//     reader releases full chunks        owner appends records and chunks
//
// The owner publishes a record by storing the chunk's size (release), and a chunk by storing the
// pointer to it; the reader loads both (acquire). Members that the other side never touches are
// plain. A ring of fixed size would not do: one that holds the bursts of the busiest thread is far
// too large for the hundreds of threads that record little.
//
// Logs are never freed, because a thread may record until the very end of the process. When a
// thread ends, its log waits until it is drained and then serves another thread.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "profiler/log/chunk_pool.h"
#include "profiler/log/open_slices.h"
#include "profiler/log/record.h"
#include "profiler/log/text_table.h"

namespace redline::profiler {

/// The name that pthread_setname_np gave the thread; nullopt if the thread has ended.
[[nodiscard]] std::optional<std::string> name_of_thread(uint64_t tid);

class ThreadLog {
 public:
  explicit ThreadLog(ChunkPool& pool) : pool_(pool) {}

  /// Owner thread only. A record that finds no memory is counted, not kept.
  void push(const Record& record) {
    if ((tail_ == nullptr || tail_size_ == Chunk::kCapacity) && !extend()) {
      dropped_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    tail_->records[tail_size_] = record;
    tail_->size.store(++tail_size_, std::memory_order_release);
  }

  /// Reader only: gives all new records to `visit`, in order.
  template <typename Visit>
  void drain(Visit visit) {
    if (head_ == nullptr) head_ = first_.load(std::memory_order_acquire);
    while (head_ != nullptr) {
      const uint32_t size = head_->size.load(std::memory_order_acquire);
      for (; read_ < size; ++read_) visit(head_->records[read_]);
      Chunk* next = head_->next.load(std::memory_order_acquire);
      if (size < Chunk::kCapacity || next == nullptr) break;
      pool_.release(head_);
      head_ = next;
      read_ = 0;
    }
  }

  /// Reader only: takes the full chunks out, oldest first, and gives them to `keep`.
  template <typename Keep>
  void take_full(Keep keep) {
    while (const Chunk* filling = filled_now()) {
      Chunk* next = filling->next.load(std::memory_order_acquire);
      if (next == nullptr) break;
      keep(std::exchange(head_, next));
      read_ = 0;
    }
  }
  /// Reader only: the chunk that is filled now, if there is one.
  [[nodiscard]] const Chunk* filled_now() {
    if (head_ == nullptr) head_ = first_.load(std::memory_order_acquire);
    return head_;
  }
  /// Reader only, once the log's thread has ended and its full chunks are taken: the last chunk.
  [[nodiscard]] Chunk* take_last();

  /// Reader only: records dropped since the last call.
  [[nodiscard]] uint64_t take_dropped() {
    const uint64_t dropped = dropped_.load(std::memory_order_relaxed);
    return dropped - std::exchange(dropped_taken_, dropped);
  }

  /// Owner thread only.
  TextCache& texts() { return texts_; }
  OpenSlices& open_slices() { return open_slices_; }
  /// Any thread.
  [[nodiscard]] const OpenSlices& open_slices() const { return open_slices_; }

  /// The owner's kernel thread id, and its name.
  [[nodiscard]] pid_t tid() const { return tid_; }
  [[nodiscard]] std::string thread_name() const;

 private:
  friend class ThreadRegistry;
  [[nodiscard]] bool extend();

  // owner
  Chunk* tail_ = nullptr;
  uint32_t tail_size_ = 0;
  ChunkPool& pool_;
  TextCache texts_;
  OpenSlices open_slices_;
  // hand-over
  std::atomic<Chunk*> first_ = nullptr;
  std::atomic<uint64_t> dropped_ = 0;
  std::atomic<bool> finished_ = false;
  // reader
  Chunk* head_ = nullptr;
  uint32_t read_ = 0;
  uint64_t dropped_taken_ = 0;
  // set before the log is handed out
  pid_t tid_ = 0;
  std::string last_name_;
};

/// The logs of all threads that have recorded.
class ThreadRegistry {
 public:
  explicit ThreadRegistry(ChunkPool& pool) : pool_(pool) {}

  /// A log for the calling thread.
  [[nodiscard]] ThreadLog* enter();
  /// The log's thread ends.
  static void leave(ThreadLog* log);

  /// The logs in use now, into `logs`.
  void list(std::vector<ThreadLog*>& logs);
  [[nodiscard]] static bool is_finished(const ThreadLog& log) {
    return log.finished_.load(std::memory_order_acquire);
  }
  /// Reader only: a finished and drained log may serve another thread.
  void recycle(ThreadLog* log);

 private:
  ChunkPool& pool_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<ThreadLog>> logs_;
  std::vector<ThreadLog*> in_use_;
  std::vector<ThreadLog*> free_;
};

}  // namespace redline::profiler
