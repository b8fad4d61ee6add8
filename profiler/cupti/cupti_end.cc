// How recording the GPUs ends: with a window, with the process, or where another tool takes CUPTI.
#include <algorithm>
#include <chrono>
#include <exception>

#include "base/quiet_thread.h"
#include "profiler/cupti/cupti_source.h"
#include "profiler/cupti/stream_names.h"

namespace redline::cupti {
namespace {

constexpr int kMostPollMs = 50;
constexpr auto kMostWaitAtEnd = std::chrono::seconds(2);

}  // namespace

void CuptiSource::stop_thread() {
  shared_state().ids = nullptr;
  is_closing_ = true;
  shared_state().pool.wake();
  is_over_.acquire();
  thread_->join();
  thread_.reset();
}

void CuptiSource::hurry() noexcept {
  is_hurried_ = true;
  shared_state().pool.wake();
}

void CuptiSource::flush_before_exit() noexcept {
  if (!is_on_) return;
  wants_flush_ = true;
  shared_state().pool.wake();
  // GPU work that never ends must not keep the process from ending.
  static_cast<void>(is_flushed_.try_acquire_for(kMostWaitAtEnd));
}

void CuptiSource::let_go(std::chrono::steady_clock::time_point until) noexcept {
  if (!thread_) return;
  shared_state().ids = nullptr;
  is_closing_ = true;
  shared_state().pool.wake();
  const bool is_over = is_over_.try_acquire_until(until);
  is_unanswered_ = !is_over;
  is_over ? thread_->join() : thread_->detach();
  thread_.reset();
  if (!is_on_.exchange(false)) return;
  try {
    if (is_over) reader_->add_last();
    reader_->finish();
    stream_names().deliver_all();
    add_counts(true);
  } catch (const std::exception&) {
    // No memory: the trace ends a little earlier.
  }
  // Otherwise the thread hangs in CUPTI, which may wait for a thread that has crashed. If it gets
  // free later, it uses the reader once more.
  if (is_over) reader_.reset();
}

void CuptiSource::give_up(const std::string& tool) noexcept {
  if (!is_on_) return;
  try {
    const std::lock_guard lock(collecting_);
    if (!off_after_.empty()) return;
    off_after_ = tool + " began to record, and CUPTI serves one tool at a time";
    shared_state().ids = nullptr;
    switch_off_and_collect();
    if (library_) subscription_.release(*library_);
    add_known_entries();
    warn(kGivenUp, "no GPU activity in the rest of this trace: " + off_after_);
  } catch (const std::exception&) {
    // No memory: the window lacks GPU work, which its counts tell.
  }
}

void CuptiSource::switch_off_and_collect() {
  // Work that was launched before belongs to the window. Later launches are not recorded.
  disable_kinds();
  // On a quiet thread, because collect_rest() may write to disk, where a limit raises SIGXFSZ.
  const auto rest = [this] { collect_rest(); };
  if (!run_quietly(rest)) rest();
}

void CuptiSource::end() {
  if (off_after_.empty()) switch_off_and_collect();
  reader_->finish();
  stream_names().deliver_all();
  add_counts(true);
  add_device_entries(devices_);
  const GraphLaunches& graphs = reader_->activities().graph_launches();
  if (graphs.without_work() > 0) {
    warn(kGraphs, "CUPTI gave no GPU work for " + std::to_string(graphs.without_work()) + " of " +
                      std::to_string(graphs.count()) +
                      " launches of CUDA graphs: docs/gpu.md says what helps");
  }
  if (!has_system_thread_ids_) {
    warn(kThreadIds, "CUPTI does not tell which threads call CUDA: calls have rows of their own");
  }
  if (failed_flush_ == kSuccess) return;
  warn(kFlush, "CUPTI did not hand over all its records: " + explain(*library_, failed_flush_));
}

/// Waits until CUPTI has given back all buffers, which it does when all work in them is over.
void CuptiSource::wait_for_gpu() {
  BufferPool& pool = shared_state().pool;
  const auto deadline = std::chrono::steady_clock::now() + most_wait_;
  for (int pause_ms = 1; library_->flush_all(0) == kSuccess && pool.out() > out_before_;
       pause_ms = std::min(2 * pause_ms, kMostPollMs)) {
    if (is_hurried_ || std::chrono::steady_clock::now() >= deadline) return;
    if (pool.has_filled()) reader_->add_filled(false);
    pool.wait(pause_ms);
  }
}

void CuptiSource::collect_rest() noexcept {
  try {
    waits_for_gpus_ = true;
    wait_for_gpu();
    collect(0);
    collect(kFlushForced);
  } catch (const std::exception&) {
    // No memory: the trace ends a little earlier.
  }
  waits_for_gpus_ = false;
}

}  // namespace redline::cupti
