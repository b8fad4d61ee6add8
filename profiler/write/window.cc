#include "profiler/write/window.h"

#include <unistd.h>

#include <chrono>
#include <exception>
#include <utility>

#include "base/quiet_thread.h"

namespace redline::profiler {
namespace {

constexpr auto kLookInterval = std::chrono::milliseconds(20);
constexpr int64_t kFlushIntervalNs = 1'000'000'000;  // a kill -9 loses at most this much

}  // namespace

bool Window::begin_warmup() {
  thread_ = start_quiet_thread([this] { run(); });
  return thread_.has_value();
}

void Window::begin(AssemblerOptions options) {
  options_ = std::move(options);
  begin_ns_.store(options_.begin_ns, std::memory_order_release);
}

void Window::end(int64_t end_ns, std::vector<trace::Entry> entries) {
  end_ns_ = end_ns;
  entries_ = std::move(entries);
  close(true);
}

void Window::discard() {
  end_thread();
  if (assembler_) assembler_->drop();
  assembler_.reset();
}

void Window::end_thread() {
  if (!thread_) return;
  close(false);
  wait();
}

void Window::close(bool keep) {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    keep_ = keep;
  }
  wake_.notify_one();
}

void Window::wait() {
  if (!thread_) return;
  thread_->join();
  thread_.reset();
}

void Window::run() {
  // If there is no memory left, the recording ends, but the job may go on.
  try {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, kLookInterval, [this] { return closing_; })) {
      lock.unlock();
      if (pool_.is_quarter_used() || plan_.is_due(monotonic_ns(), is_short_of_texts())) round();
      lock.lock();
    }
    const bool keep = keep_;
    lock.unlock();  // so that the job can discard the window meanwhile
    if (keep) finish();
    pool_.trim();
  } catch (const std::exception& failure) {
    fail(failure.what());
  }
}

/// A new generation of texts has begun, and the one before it is not released yet.
bool Window::is_short_of_texts() const {
  return are_older_texts_needed_ || texts_.began_ns() >= plan_.begun_ns();
}

void Window::round() {
  const int64_t last_round_ns = plan_.begin(monotonic_ns());
  const bool begun = begin_ns_.load(std::memory_order_acquire) != kNotBegun;
  if (begun && !assembler_) open();
  const uint32_t texts_generation = texts_.generation();
  // Events that were open when the generation of texts changed have had a round's time to end.
  are_older_texts_needed_ = texts_.began_ns() >= last_round_ns;
  if (assembler_) {
    // If this thread is too slow, threads of the job lose records.
    const bool is_behind = pool_.is_quarter_used();
    assembler_->set_effort(is_behind ? trace::DeflateEffort::kFast : trace::DeflateEffort::kSmall);
  }
  threads_.list(logs_);
  for (ThreadLog* log : logs_) {
    const bool finished = ThreadRegistry::is_finished(*log);
    drain(*log);
    if (finished) threads_.recycle(log);
  }
  if (assembler_) assembler_->end_round();
  if (!are_older_texts_needed_) texts_.release_before(texts_generation);
  plan_.end(machine::thread_times("self", gettid()));
  if (!assembler_) return;
  if (plan_.next_ns() > flushed_ns_ + kFlushIntervalNs) {
    assembler_->flush();
    flushed_ns_ = plan_.begun_ns();
    check_disk();
  }
  bytes_ = assembler_->bytes_written();
  if (error_.empty()) recorded_ = assembler_->written();
}

void Window::open() {
  assembler_.emplace(texts_, options_);
  flushed_ns_ = options_.begin_ns;
}

void Window::drain(ThreadLog& log) {
  Record last;
  log.drain([&](const Record& record) {
    // The window may begin while this runs.
    if (record.begin_ns >= begin_ns_.load(std::memory_order_acquire)) add(record, log);
    unfinished_.was_recorded(record);
    last = record;
  });
  if (last.begin_ns != 0) last_read_[&log] = last;
  const uint64_t dropped = log.take_dropped();
  if (begin_ns_.load(std::memory_order_acquire) != kNotBegun) dropped_ += dropped;
}

void Window::add(const Record& record, const ThreadLog& log) {
  if (!assembler_) open();
  if (!error_.empty()) {
    ++dropped_;
    return;
  }
  const auto recorder = static_cast<uint64_t>(log.tid());
  const uint64_t tid = thread_of(record, recorder);
  if (is_of_thread(record)) see_thread(tid, log);
  assembler_->add(record, tid);
  if (!assembler_->error().empty()) fail(assembler_->error());
}

void Window::see_thread(uint64_t tid, const ThreadLog& log) {
  const auto [seen, is_new] = seen_threads_.try_emplace(tid);
  if (!is_new) return;
  const bool is_own = tid == static_cast<uint64_t>(log.tid());
  seen->second = is_own ? log.thread_name() : name_of_thread(tid).value_or("");
  thread_count_ = seen_threads_.size();
}

void Window::check_disk() {
  if (!assembler_->error().empty()) return fail(assembler_->error());
  if (assembler_->is_written()) on_disk_ = assembler_->written();
}

/// To be called when no thread begins a slice any more.
void Window::find_unfinished() {
  threads_.list(logs_);
  for (const ThreadLog* log : logs_) {
    unfinished_.add(log->open_slices(), options_.begin_ns, static_cast<uint64_t>(log->tid()));
  }
  // A thread may have been preempted after it submitted a record and before it closed the slice.
  for (const auto& [log, record] : last_read_) unfinished_.was_recorded(record);
}

void Window::write_unfinished() {
  for (const auto& [record, tid] : unfinished_.slices()) {
    if (record.begin_ns > end_ns_) continue;
    const auto [seen, is_new] = seen_threads_.try_emplace(tid);
    if (is_new) seen->second = name_of_thread(tid).value_or("");
    assembler_->add_unfinished(record, tid, end_ns_);
    ++unfinished_written_;
  }
  unfinished_written_ += assembler_->end_open_ranges(end_ns_);
  recorded_ = assembler_->written();
  thread_count_ = seen_threads_.size();
}

void Window::finish() {
  find_unfinished();
  round();
  if (assembler_ && error_.empty()) write_unfinished();
  std::vector<Assembler::Thread> threads;
  for (const auto& [tid, name] : seen_threads_) threads.push_back({tid, name});
  if (assembler_ && error_.empty()) {
    assembler_->finish(end_ns_, threads, closing_entries(summary(), entries_));
    bytes_ = assembler_->bytes_written();
    check_disk();
  }
}

TraceSummary Window::summary() const {
  const uint64_t lost_texts = assembler_ ? assembler_->lost_texts() : 0;
  return {recorded_, dropped_, texts_.refused() + lost_texts, thread_count_, unfinished_written_};
}

void Window::fail(const std::string& why) {
  if (!error_.empty()) return;
  error_ = why;
  // Events that were written but are not surely on the disk count as lost, too.
  if (assembler_) dropped_ += assembler_->written() - on_disk_;
  recorded_ = on_disk_;
}

tl::expected<void, std::string> Window::complete() {
  wait();
  if (!error_.empty()) return tl::unexpected(error_);
  if (!assembler_) return tl::unexpected(std::string("the window has no trace"));
  return {};
}

tl::expected<void, std::string> Window::save(const std::string& path) {
  if (auto done = complete(); !done) return done;
  return assembler_->save(path);
}

Window::Counts Window::counts() const { return {recorded_, dropped_, bytes_, thread_count_}; }

}  // namespace redline::profiler
