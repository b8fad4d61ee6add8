#include "profiler/log/thread_log.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace redline::profiler {

bool ThreadLog::extend() {
  Chunk* chunk = pool_.acquire();
  if (chunk == nullptr) return false;
  if (tail_ == nullptr) {
    first_.store(chunk, std::memory_order_release);
  } else {
    tail_->next.store(chunk, std::memory_order_release);
  }
  tail_ = chunk;
  tail_size_ = 0;
  return true;
}

std::optional<std::string> name_of_thread(uint64_t tid) {
  std::ifstream file("/proc/self/task/" + std::to_string(tid) + "/comm");
  std::string name;
  if (!std::getline(file, name)) return std::nullopt;
  return name;
}

Chunk* ThreadLog::take_last() {
  static_cast<void>(filled_now());
  // Relaxed, because the registry's lock comes between this and the next owner.
  first_.store(nullptr, std::memory_order_relaxed);
  tail_ = nullptr;
  tail_size_ = 0;
  read_ = 0;
  return std::exchange(head_, nullptr);
}

std::string ThreadLog::thread_name() const {
  // Many threads get their name after their first operators, so we ask now. A thread that is gone
  // has the name that it began with.
  return name_of_thread(static_cast<uint64_t>(tid_)).value_or(last_name_);
}

ThreadLog* ThreadRegistry::enter() {
  char name[16] = "";
  pthread_getname_np(pthread_self(), name, sizeof(name));
  const std::lock_guard lock(mutex_);
  if (free_.empty()) {
    logs_.push_back(std::make_unique<ThreadLog>(pool_));
    free_.push_back(logs_.back().get());
    in_use_.reserve(logs_.size());
    free_.reserve(logs_.size());
  }
  ThreadLog* log = free_.back();
  free_.pop_back();
  log->tid_ = gettid();
  log->last_name_ = name;
  log->open_slices_.clear();
  log->finished_.store(false, std::memory_order_relaxed);
  in_use_.push_back(log);
  return log;
}

void ThreadRegistry::leave(ThreadLog* log) {
  log->finished_.store(true, std::memory_order_release);
}

void ThreadRegistry::list(std::vector<ThreadLog*>& logs) {
  const std::lock_guard lock(mutex_);
  logs = in_use_;
}

void ThreadRegistry::recycle(ThreadLog* log) {
  const std::lock_guard lock(mutex_);
  in_use_.erase(std::find(in_use_.begin(), in_use_.end(), log));
  free_.push_back(log);
}

}  // namespace redline::profiler
