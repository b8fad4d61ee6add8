#include "watch/hang_watch.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/quiet_thread.h"
#include "machine/launch/process_tree.h"
#include "machine/resources.h"
#include "profiler/request/logged_jobs.h"
#include "trace/read/step_log_reader.h"

namespace redline::watch {
namespace {

using trace::Hang;
using trace::HangTable;
using trace::ThreadState;

constexpr auto kLookInterval = std::chrono::milliseconds(500);
constexpr int64_t kFreshNs = 5'000'000'000;  // a rank writes its table each second
constexpr int64_t kUsualSteps = 3;
constexpr auto kGrace = std::chrono::seconds(10);  // in which ranks write what they recorded

int64_t unix_now_ns() {
  return std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

bool is_same(const Hang& left, const Hang& right) {
  return left.kind == right.kind && left.ranks == right.ranks && left.group == right.group &&
         left.sequence == right.sequence && left.step == right.step;
}

void say(const std::string& line) {
  static_cast<void>(write_all(STDERR_FILENO, "redline: " + line + "\n"));
}

void send(const std::vector<launch::JobProcess>& processes, int signal) {
  for (const auto& process : processes) kill(process.pid, signal);
}

// The processes of the ranks on this machine. A rank's children inherit its environment, so a
// process whose parent has the same rank is one of those.
std::map<int, int64_t> rank_processes(const std::string& run) {
  const auto processes = launch::processes_of_run(run);
  std::map<pid_t, std::optional<int>> rank_of;
  for (const auto& process : processes) rank_of[process.pid] = process.rank;
  std::map<int, int64_t> found;
  for (const auto& process : processes) {
    if (process.rank && rank_of[process.parent] != process.rank) found[*process.rank] = process.pid;
  }
  return found;
}

ThreadState state_of(int64_t process) {
  const auto known = launch::read_process(static_cast<pid_t>(process));
  if (!known || known->dead()) return ThreadState::kGone;
  return known->state == 'T' || known->state == 't' ? ThreadState::kStopped : ThreadState::kUnknown;
}

// Whether the rank, which has no table, ended a step lately.
bool makes_steps(const std::string& folder, int rank, const std::string& run, int64_t now_ns) {
  for (const std::string& path : trace::find_step_logs(folder)) {
    const auto log = trace::read_step_log(path);
    if (!log || log->rank != rank || log->run != run || log->steps.empty()) continue;
    return log->steps.back().end_ns() > now_ns - kFreshNs;
  }
  return false;
}

}  // namespace

HangWatch::HangWatch(std::string folder, std::string run, double hang_after, OnHang on_hang)
    : folder_(std::move(folder)), run_(std::move(run)), hang_after_(hang_after), on_hang_(on_hang) {
  std::error_code ignored;
  for (const auto& path : trace::find_hang_tables(folder_)) std::filesystem::remove(path, ignored);
  thread_ = start_quiet_thread([this] { watch(); });
}

HangWatch::~HangWatch() { finish(); }

bool HangWatch::finish() {
  if (!thread_) return has_ended_job_;
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  wake_.notify_one();
  thread_->join();
  thread_.reset();
  return has_ended_job_;
}

std::string HangWatch::path_of(int rank) const {
  return folder_ + "/rank" + std::to_string(rank) + trace::kHangTableSuffix;
}

void HangWatch::watch() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, kLookInterval, [this] { return is_over_; })) {
    lock.unlock();
    try {
      look();
    } catch (const std::exception&) {  // no memory: the next look may find some
    }
    lock.lock();
  }
}

void HangWatch::look() {
  auto tables = trace::read_hang_tables(folder_);
  std::erase_if(tables, [&](const HangTable& table) { return table.run != run_; });
  const auto is_own = [&](const HangTable& table) {
    return std::ranges::find(own_tables_, path_of(table.rank)) != own_tables_.end();
  };
  if (std::ranges::all_of(tables, is_own)) {
    last_.reset();
    remove_own_tables();
    return;
  }
  const int64_t now_ns = unix_now_ns();
  add_processes(tables);
  auto hang = trace::find_hang(tables);
  if (!hang || !is_old_enough(*hang, tables, now_ns)) {
    last_.reset();
    return;
  }
  // The tables are written one after another, so that one look alone may mix two moments.
  const bool is_sure = last_ && is_same(*last_, *hang);
  last_ = std::move(hang);
  if (!is_sure || (told_ && is_same(*told_, *last_))) return;
  told_ = last_;
  tell(*last_, tables, now_ns);
  if (on_hang_ == OnHang::kAbort) end_job();
}

void HangWatch::end_job() {
  has_ended_job_ = true;
  say("the job is ended (--on-hang abort)");
  auto living = launch::processes_of_run(run_);
  send(living, SIGTERM);
  send(living, SIGCONT);  // one that is stopped ends only once it goes on
  const auto deadline = std::chrono::steady_clock::now() + kGrace;
  while (!living.empty() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    living = launch::processes_of_run(run_);
  }
  send(living, SIGKILL);
}

bool HangWatch::is_old_enough(const Hang& hang, const std::vector<HangTable>& tables,
                              int64_t now_ns) const {
  int64_t usual_ns = 0;
  for (const HangTable& table : tables) {
    const bool is_silent = table.state == ThreadState::kGone ||
                           table.state == ThreadState::kStopped || table.written_ns == 0;
    if (!is_silent && now_ns - table.written_ns > kFreshNs) return false;
    usual_ns = std::max(usual_ns, table.usual_step_ns);
  }
  const auto asked_ns = static_cast<int64_t>(hang_after_ * 1e9);
  return hang.since_ns > 0 && now_ns - hang.since_ns >= std::max(asked_ns, kUsualSteps * usual_ns);
}

void HangWatch::add_processes(std::vector<HangTable>& tables) {
  const std::string host = machine::host_name();
  int world_size = 0;
  for (HangTable& table : tables) {
    world_size = std::max(world_size, table.world_size);
    if (table.host != host) continue;
    processes_[table.rank] = table.process;
    if (const auto state = state_of(table.process); state != ThreadState::kUnknown) {
      table.state = state;
    }
  }
  if (std::ssize(tables) >= world_size) return;
  for (const auto& [rank, process] : rank_processes(run_)) processes_[rank] = process;
  const int64_t now_ns = unix_now_ns();
  const std::vector<HangTable> told = tables;
  for (const auto& [rank, process] : processes_) {
    const auto has_rank = [rank = rank](const HangTable& table) { return table.rank == rank; };
    if (std::ranges::any_of(told, has_rank)) continue;
    HangTable silent;
    silent.run = run_;
    silent.rank = rank;
    silent.world_size = world_size;
    silent.host = host;
    silent.process = process;
    silent.state = state_of(process);
    silent.is_moving =
        silent.state == ThreadState::kUnknown && makes_steps(folder_, rank, run_, now_ns);
    tables.push_back(std::move(silent));
  }
}

void HangWatch::tell(const Hang& hang, const std::vector<HangTable>& tables, int64_t now_ns) {
  // What a rank that is stopped or gone cannot write itself, so that a report says the same later.
  for (const HangTable& table : tables) {
    const bool is_stopped = table.state == ThreadState::kStopped;
    if (table.written_ns != 0 || (!is_stopped && table.state != ThreadState::kGone)) continue;
    const nlohmann::json json = {
        {"schema", "redline.hang/1"}, {"run", table.run},
        {"rank", table.rank},         {"world_size", table.world_size},
        {"host", table.host},         {"process", table.process},
        {"written_ns", now_ns},       {"state", is_stopped ? "stopped" : "gone"}};
    const std::string path = path_of(table.rank);
    if (write_file(path, json.dump() + "\n")) own_tables_.push_back(path);
  }
  std::string text = "the job hangs: ";
  for (const std::string& line : trace::hang_lines(hang, now_ns)) text += line + "\nredline:   ";
  text.resize(text.rfind('\n'));
  say(text);
}

void HangWatch::remove_own_tables() {
  std::error_code ignored;
  for (const std::string& path : own_tables_) std::filesystem::remove(path, ignored);
  own_tables_.clear();
}

}  // namespace redline::watch
