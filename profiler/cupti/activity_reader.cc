#include "profiler/cupti/activity_reader.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <span>
#include <utility>

#include "base/quiet_thread.h"

namespace redline::cupti {
namespace {

constexpr size_t kMostInRound = 4;  ///< so few buffers, so that CUPTI soon gets some back
constexpr auto kMostWaitForAnnotations = std::chrono::seconds(2);
constexpr size_t kLittleRoom = BufferPool::kMostBuffers / 2;

}  // namespace

bool ActivityReader::start() {
  activities_.see_clocks(read_clocks(library_));
  thread_ = start_quiet_thread([this] { run(); });
  return thread_.has_value();
}

void ActivityReader::add_filled(bool is_flushed) {
  clear_what_is_read();
  std::optional<ClockReading> clock = read_clocks(library_);
  const auto filled = pool_.take_filled();
  std::span<const BufferPool::Filled> rest = filled;
  do {
    const auto some = rest.first(std::min(rest.size(), kMostInRound));
    rest = rest.subspan(some.size());
    Round round{.buffers = {some.begin(), some.end()},
                .is_flushed = is_flushed && rest.empty(),
                .clock = std::exchange(clock, std::nullopt)};
    if (!some.empty() && !is_disk_full_ && pool_.room() < kLittleRoom) put_on_disk(round);
    push(std::move(round));
  } while (!rest.empty());
}

void ActivityReader::add_last() { push({.buffers = pool_.take_filled()}); }

void ActivityReader::deliver_annotations() {
  while (delivered_.try_acquire()) continue;  // of a wait that was given up
  push({.wants_annotations = true});
  static_cast<void>(delivered_.try_acquire_for(kMostWaitForAnnotations));
}

/// Empties the file if everything in it is read, because the job may need the disk.
void ActivityReader::clear_what_is_read() {
  {
    const std::lock_guard lock(mutex_);
    if (!rounds_.empty() || is_reading_) return;
  }
  spool_.clear();
  is_disk_full_ = false;
}

void ActivityReader::put_on_disk(Round& round) {
  DecodeCounts counts;
  std::optional<RecordSpool::Extent> extent;
  try {
    compacted_.clear();
    for (const auto& [buffer, size] : round.buffers) {
      counts += compact(buffer, size, library_.version, library_.get_next_record, compacted_);
    }
    extent = spool_.write(compacted_);
  } catch (const std::bad_alloc&) {
    // Without memory we do as with a full disk.
  }
  if (!extent) {
    is_disk_full_ = true;
    return;
  }
  spooled_bytes_ += extent->size;
  round.on_disk = extent;
  round.counts = counts;
  give_back(round);
  round.buffers.clear();
}

void ActivityReader::give_back(Round& round) {
  for (const auto& [buffer, size] : round.buffers) pool_.give_back(buffer);
}

void ActivityReader::push(Round round) {
  {
    const std::lock_guard lock(mutex_);
    rounds_.push_back(std::move(round));
  }
  changed_.notify_one();
}

std::optional<ActivityReader::Round> ActivityReader::pop() {
  std::unique_lock lock(mutex_);
  is_reading_ = false;
  changed_.wait(lock, [this] { return is_closed_ || !rounds_.empty(); });
  if (rounds_.empty()) return std::nullopt;
  Round round = std::move(rounds_.front());
  rounds_.pop_front();
  is_reading_ = true;
  return round;
}

void ActivityReader::run() {
  while (auto round = pop()) {
    try {
      read(*round);
    } catch (const std::exception&) {
      // No memory: the trace lacks these records, which its counts tell.
    }
    timed_ = activities_.counts().timed;
    incomplete_ = activities_.counts().incomplete;
    give_back(*round);
    if (round->wants_annotations) delivered_.release();
  }
  try {
    activities_.finish();
  } catch (const std::exception&) {
    // No memory: the trace ends a little earlier.
  }
}

void ActivityReader::read(const Round& round) {
  if (round.wants_annotations) return activities_.deliver_annotations();
  if (round.clock) activities_.see_clocks(*round.clock);
  if (!round.on_disk) {
    return activities_.add_round(round.buffers, library_.get_next_record, round.is_flushed);
  }
  DecodeCounts left_out = round.counts;
  const uint64_t records = std::exchange(left_out.records, 0);
  if (spool_.read(*round.on_disk, read_from_disk_)) {
    const BufferPool::Filled filled{read_from_disk_.data(), read_from_disk_.size()};
    activities_.add_round({&filled, 1}, next_compact, round.is_flushed);
  } else {
    left_out.truncated += records;
  }
  activities_.count_left_out(left_out);
}

void ActivityReader::finish() {
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
  }
  changed_.notify_one();
  thread_->join();
  thread_.reset();
}

}  // namespace redline::cupti
