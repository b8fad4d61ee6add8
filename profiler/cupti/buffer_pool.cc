#include "profiler/cupti/buffer_pool.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <new>

namespace redline::cupti {

uint8_t* BufferPool::make() {
  // operator new[] for uint8_t aligns to 16 bytes; CUPTI wants 8.
  std::unique_ptr<uint8_t[]> buffer(new (std::nothrow) uint8_t[kBufferBytes]);
  if (!buffer) return nullptr;
  std::memset(buffer.get(), 0, kBufferBytes);
  const std::lock_guard lock(mutex_);
  all_.push_back(std::move(buffer));
  free_.reserve(all_.size());
  filled_.reserve(all_.size());
  out_.reserve(all_.size());
  return all_.back().get();
}

void BufferPool::warm_up() {
  const auto is_warm = [this] {
    const std::lock_guard lock(mutex_);
    return free_.size() >= kWarmBuffers || all_.size() >= kMostBuffers;
  };
  while (!is_warm()) {
    uint8_t* buffer = make();
    if (buffer == nullptr) return;
    const std::lock_guard lock(mutex_);
    free_.push_back(buffer);
  }
}

size_t BufferPool::room() const {
  const std::lock_guard lock(mutex_);
  return free_.size() + kMostBuffers - std::min(kMostBuffers, all_.size());
}

uint8_t* BufferPool::take(bool may_refuse) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      uint8_t* buffer = free_.back();
      free_.pop_back();
      out_.push_back(buffer);  // allocates nothing: make() has reserved the place
      return buffer;
    }
    if (may_refuse && all_.size() + being_made_ >= kMostBuffers) {
      ++refused_;
      return nullptr;
    }
    ++being_made_;
  }
  uint8_t* buffer = nullptr;
  try {
    buffer = make();
  } catch (const std::exception&) {
    // No memory for the places in the lists.
  }
  const std::lock_guard lock(mutex_);
  --being_made_;
  if (buffer == nullptr) {
    ++refused_;
  } else {
    out_.push_back(buffer);
  }
  return buffer;
}

void BufferPool::complete(uint8_t* buffer, size_t valid_size) noexcept {
  bool is_scarce = false;
  {
    const std::lock_guard lock(mutex_);
    const auto taken = std::ranges::find(out_, buffer);
    if (taken == out_.end()) {
      ++foreign_;
      return;
    }
    *taken = out_.back();
    out_.pop_back();
    if (valid_size == 0) {
      free_.push_back(buffer);
      return;
    }
    filled_.push_back({buffer, valid_size});
    is_scarce = filled_.size() >= kWarmBuffers / 2;
  }
  if (is_scarce) changed_.notify_one();
}

std::vector<BufferPool::Filled> BufferPool::take_filled() {
  const std::lock_guard lock(mutex_);
  std::vector<Filled> filled(filled_);
  filled_.clear();
  return filled;
}

void BufferPool::give_back(uint8_t* buffer) {
  const std::lock_guard lock(mutex_);
  free_.push_back(buffer);
}

bool BufferPool::has_filled() const {
  const std::lock_guard lock(mutex_);
  return !filled_.empty();
}

size_t BufferPool::out() const {
  const std::lock_guard lock(mutex_);
  return out_.size();
}

bool BufferPool::wait(int interval_ms) {
  std::unique_lock lock(mutex_);
  const bool is_awaited = changed_.wait_for(lock, std::chrono::milliseconds(interval_ms), [this] {
    return is_woken_ || filled_.size() >= kWarmBuffers / 2;
  });
  is_woken_ = false;
  return is_awaited;
}

void BufferPool::wake() {
  {
    const std::lock_guard lock(mutex_);
    is_woken_ = true;
  }
  changed_.notify_one();
}

uint64_t BufferPool::refused() const {
  const std::lock_guard lock(mutex_);
  return refused_;
}

uint64_t BufferPool::foreign() const {
  const std::lock_guard lock(mutex_);
  return foreign_;
}

}  // namespace redline::cupti
