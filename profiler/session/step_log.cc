#include "profiler/session/step_log.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <utility>

#include "base/clock.h"
#include "base/launched_rank.h"
#include "base/quiet_thread.h"
#include "base/secrets.h"
#include "base/user_switch.h"
#include "machine/host_reading.h"
#include "machine/resources.h"
#include "profiler/session/control.h"
#include "profiler/source/run_metadata.h"

namespace redline::profiler {
namespace {

constexpr size_t kMostWaiting = 1 << 16;  // entries while the disk takes none
constexpr size_t kStepsOfBlock = 512;
constexpr size_t kMarksOfBlock = 16;
constexpr size_t kLongestText = 4096;
constexpr int64_t kBetweenMemoryNs = 10'000'000'000;
constexpr int64_t kSecondNs = 1'000'000'000;
// So that short runs have a trend, too, and their peaks are seen.
constexpr int64_t kNotedEachSecondNs = 120 * kSecondNs;
/// close() waits so long for the last block: 2 s. Looks are counted, because the whole machine may
/// stand still for longer than that.
constexpr auto kLookAtClose = std::chrono::milliseconds(100);
constexpr int kMostLooksAtClose = 20;

/// Replaced in a forked child: the parent's may be locked for ever, and its thread is not there.
StepLog* g_log = nullptr;

/// One address a thread. A thread_local variable of a library would take a call.
const void* this_thread() { return __builtin_thread_pointer(); }

std::string command_of_process() {
  std::string command;
  for (const std::string& word : without_secrets(command_line(""))) {
    command += (command.empty() ? "" : " ") + word;
  }
  return command.substr(0, kLongestText);
}

bool open_log_of_program(const char* folder) {
  const auto rank = launched_rank().value_or(JobRank{});
  trace::LogOwner owner;
  owner.run = user_variable("REDLINE_LOG_RUN");
  owner.rank = static_cast<int>(rank.rank);
  owner.world_size = static_cast<int>(rank.world_size);
  const auto opened = StepLog::instance().open(folder, std::move(owner));
  if (opened) return true;
  std::fprintf(stderr, "redline: no step log, training goes on: %s\n", opened.error().c_str());
  return false;
}

template <typename Entry>
void copy_first(const std::vector<Entry>& from, std::vector<Entry>& to, size_t most) {
  to.assign(from.begin(), from.begin() + static_cast<ptrdiff_t>(std::min(most, from.size())));
}

template <typename Entry>
void drop_first(std::vector<Entry>& entries, size_t count) {
  entries.erase(entries.begin(), entries.begin() + static_cast<ptrdiff_t>(count));
}

}  // namespace

[[gnu::hot]] StepLog& StepLog::instance() {
  static const bool registered = [] {
    g_log = new StepLog;  // for ever: threads and exit handlers may come late
    pthread_atfork(nullptr, nullptr, [] { g_log = new StepLog; });
    ::on_exit([](int status, void*) { instance().close(status); }, nullptr);
    return true;
  }();
  static_cast<void>(registered);
  return *g_log;
}

[[gnu::hot]] bool StepLog::is_training_thread() {
  if (thread_ == nullptr) thread_ = this_thread();
  return thread_ == this_thread();
}

/// Until the first step ends, the first thread that did anything is taken for the one that trains:
/// it may be one that reads batches ahead.
[[gnu::hot]] void StepLog::follow_thread(Kind kind) {
  const bool infers = kind == Kind::kInference && model_thread_ != nullptr;
  const void* const thread = infers ? model_thread_ : this_thread();
  if (std::exchange(thread_, thread) != thread) clock_.change_thread();
}

void StepLog::know(trace::LogPart part) { clock_.know(part); }

[[gnu::hot]] void StepLog::enter(trace::LogPart part) {
  if (part == trace::LogPart::kForward) model_thread_ = this_thread();
  if (is_training_thread()) clock_.enter(part, monotonic_ns());
}

[[gnu::hot]] void StepLog::leave_as(trace::LogPart entered, trace::LogPart part) {
  if (is_training_thread()) clock_.leave_as(entered, part, monotonic_ns());
}

void StepLog::evaluated() {
  if (is_training_thread()) clock_.evaluated(monotonic_ns());
}

void StepLog::pause() {
  if (is_training_thread()) clock_.pause();
}

[[gnu::hot]] StepLog::Outcome StepLog::end_step(int64_t samples, int64_t tokens, Kind kind) {
  const std::lock_guard lock(mutex_);
  follow_thread(kind);
  if (writer_ == nullptr) return Outcome::kNotOpen;
  const int64_t now_ns = monotonic_ns();
  auto step = clock_.end_step(now_ns);
  if (!step || is_ending_) return Outcome::kDone;
  step->samples = samples;
  step->tokens = tokens;
  ended_steps_ = step->step + 1;
  last_end_ns_ = now_ns;
  step->begin_ns += offset_ns_;
  if (kind == Kind::kInference) {
    has_inferred_ = true;
  } else if (std::exchange(has_inferred_, false)) {
    first_step_ = step->step;
    add_mark({step->begin_ns, 0, trace::LogMarkKind::kTraining, std::to_string(first_step_)});
  }
  if (steps_.size() < kMostWaiting) {
    steps_.push_back(*step);
  } else {
    ++lost_steps_;
  }
  const int64_t between_ns =
      now_ns - opened_ns_ < kNotedEachSecondNs ? kSecondNs : kBetweenMemoryNs;
  if (now_ns - memory_asked_ns_ < between_ns) return Outcome::kDone;
  memory_asked_ns_ = now_ns;
  return Outcome::kMemoryIsDue;
}

StepLog::Progress StepLog::progress() {
  const std::lock_guard lock(mutex_);
  if (last_end_ns_ == 0) return {};
  return {.steps = ended_steps_ - first_step_, .age_ns = monotonic_ns() - last_end_ns_};
}

tl::expected<void, std::string> StepLog::open(const std::string& folder, trace::LogOwner owner) {
  const std::lock_guard lock(mutex_);
  if (writer_ != nullptr) return {};
  const ClockPair clocks = read_clocks();
  offset_ns_ = clocks.offset_ns();
  owner.host = machine::host_name();
  owner.process = getpid();
  owner.begin_ns = clocks.realtime_ns;
  owner.clock_offset_ns = offset_ns_;
  if (owner.command.empty()) owner.command = command_of_process();
  auto writer = trace::StepLogWriter::create(folder, std::move(owner));
  if (!writer) return tl::unexpected(writer.error());
  writer_ = std::move(*writer);
  opened_ns_ = monotonic_ns();
  auto thread = start_quiet_thread([this] { write_each_second(); });
  if (!thread) {
    writer_.reset();
    return tl::unexpected(std::string("the system has no thread left"));
  }
  thread->detach();
  // When a rank dies, its launcher ends the others by SIGTERM. Without their ends in the logs, all
  // seem to have died.
  static_cast<void>(log_termination());
  return {};
}

void StepLog::add_mark(trace::LogMark mark) {
  if (marks_.size() < kMostWaiting) {
    marks_.push_back(std::move(mark));
  } else {
    ++lost_marks_;
  }
}

void StepLog::mark(trace::LogMarkKind kind, int64_t length_ns, std::string text) {
  text.resize(std::min(text.size(), kLongestText));
  const std::lock_guard lock(mutex_);
  const int64_t now_ns =
      monotonic_ns() + (writer_ != nullptr ? offset_ns_ : read_clocks().offset_ns());
  add_mark({now_ns - length_ns, length_ns, kind, std::move(text)});
  // When one rank fails, its launcher kills the others. Only their logs say who was first.
  if (kind == trace::LogMarkKind::kException) {
    is_urgent_ = true;
    changed_.notify_all();
  }
}

void StepLog::set_device_memory(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  device_bytes_ = bytes;
}

void StepLog::close(std::optional<int> exit_status) {
  std::unique_lock lock(mutex_);
  if (writer_ == nullptr || is_ending_) return;
  is_ending_ = true;
  exit_status_ = exit_status;
  changed_.notify_all();
  for (int looks = 0; looks < kMostLooksAtClose && !has_ended_; ++looks) {
    changed_.wait_for(lock, kLookAtClose, [&] { return has_ended_; });
  }
}

void StepLog::write_each_second() {
  std::unique_lock lock(mutex_);
  bool is_last = false;
  while (!is_last) {  // once in any case: a short job may end before this thread begins
    changed_.wait_for(lock, std::chrono::seconds(1), [&] { return is_ending_ || is_urgent_; });
    is_last = is_ending_;
    const bool is_urgent = std::exchange(is_urgent_, false);
    if (!is_urgent || is_last) note_machine(lock);
    write(lock);
  }
  if (!steps_.empty()) {  // the file cannot say so
    std::fprintf(stderr, "redline: the step log lacks the last %zu steps: %s\n", steps_.size(),
                 writer_->error().c_str());
  }
  has_ended_ = true;
  changed_.notify_all();
}

/// Memory and cores. Reads them without the lock, for which a step would wait.
void StepLog::note_machine(std::unique_lock<std::mutex>& lock) {
  const int64_t now_ns = monotonic_ns();
  const bool is_due = machine_noted_ns_ == 0 || now_ns - opened_ns_ < kNotedEachSecondNs ||
                      now_ns - machine_noted_ns_ >= kBetweenMemoryNs;
  if (!is_due && !is_ending_) return;
  machine_noted_ns_ = now_ns;
  lock.unlock();
  host_.find_workers();
  const machine::HostReading reading = host_.read();
  const machine::CoreUse use = core_use_.read(reading);
  lock.lock();
  if (memory_.size() >= kMostWaiting || cores_.size() >= kMostWaiting) return;
  const int64_t time_ns = now_ns + offset_ns_;
  memory_.push_back({time_ns, reading.resident_bytes.value_or(trace::kUnseen), device_bytes_});
  cores_.push_back({time_ns, use.cores, use.busy_ns.value_or(trace::kUnseen), use.used_ns,
                    use.waited_ns.value_or(trace::kUnseen)});
}

/// All that waits. What cannot be written waits on.
void StepLog::write(std::unique_lock<std::mutex>& lock) {
  bool is_done = false;
  while (!is_done) {
    const trace::LogBlock block = next_block();
    is_done = block.steps.size() == steps_.size() && block.marks.size() == marks_.size();
    lock.unlock();
    const bool is_written = writer_->append(block);
    lock.lock();
    if (!is_written) {
      if (!std::exchange(has_told_error_, true)) {
        std::fprintf(stderr, "redline: the step log cannot be written, training goes on: %s\n",
                     writer_->error().c_str());
      }
      return;
    }
    take_written(block);
  }
}

trace::LogBlock StepLog::next_block() {
  trace::LogBlock block;
  copy_first(steps_, block.steps, kStepsOfBlock);
  copy_first(memory_, block.memory, kStepsOfBlock);
  copy_first(cores_, block.cores, kStepsOfBlock);
  copy_first(marks_, block.marks, kMarksOfBlock);
  block.sign_ns = monotonic_ns() + offset_ns_;
  if (const auto state = clock_.state()) {
    block.part = state->part;
    block.part_since_ns = state->since_ns + offset_ns_;
  }
  block.lost_steps = lost_steps_;
  block.lost_marks = lost_marks_;
  const bool is_last = block.steps.size() == steps_.size() && block.marks.size() == marks_.size();
  block.ended = is_ending_ && is_last;
  if (block.ended) block.exit_status = exit_status_;
  return block;
}

void StepLog::take_written(const trace::LogBlock& block) {
  drop_first(steps_, block.steps.size());
  drop_first(memory_, block.memory.size());
  drop_first(cores_, block.cores.size());
  drop_first(marks_, block.marks.size());
}

void log_step_of_program(int64_t samples) {
  static const char* const folder = ::secure_getenv("REDLINE_LOG");
  if (folder == nullptr || *folder == '\0') return;
  static const pid_t process = getpid();
  if (process != getpid()) return;  // its forked child is no rank
  // A program may have a redline::Profiler and a redline::Trial, in this order or the other. Both
  // end each step; that of the Trial counts, because it tells the samples.
  enum class Caller { kNone, kProfiler, kTrial };
  static std::atomic<Caller> last = Caller::kNone;
  const Caller caller = samples == trace::kUnseen ? Caller::kProfiler : Caller::kTrial;
  if (caller == Caller::kProfiler && last == Caller::kTrial) return;
  const bool has_ended = last.exchange(caller) == Caller::kProfiler && caller == Caller::kTrial;
  if (has_ended) return;
  static const bool is_open = open_log_of_program(folder);  // a failure is final
  if (is_open) StepLog::instance().end_step(samples, trace::kUnseen);
}

}  // namespace redline::profiler
