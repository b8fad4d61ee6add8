#include "watch/hang_watch.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/file.h"
#include "base/json_values.h"
#include "base/pid_namespace.h"
#include "base/printable.h"
#include "machine/launch/process_tree.h"
#include "machine/resources.h"
#include "profiler/request/logged_jobs.h"
#include "profiler/request/recording_summary.h"
#include "profiler/request/trigger.h"
#include "trace/report/hang_words.h"
#include "trace/run/folder.h"

namespace redline::watch {
namespace {

using trace::Hang;
using trace::HangTable;
using trace::ThreadState;

constexpr auto kLookInterval = std::chrono::milliseconds(500);
constexpr int64_t kFreshNs = 5'000'000'000;  // a rank writes its table each second
constexpr int64_t kLeftNs = 60'000'000'000;  // a table that is older belongs to no job that runs
constexpr int64_t kUsualSteps = 3;
constexpr double kSureSeconds = 3;  // a job that was stopped and goes on needs a moment
constexpr auto kGrace = std::chrono::seconds(10);  // in which ranks write what they recorded
constexpr int64_t kAnswerNs = 10'000'000'000;      // launchers start one after another

void say(const std::string& line) {
  static_cast<void>(write_all(STDERR_FILENO, "redline: " + line + "\n"));
}

bool is_same(const Hang& left, const Hang& right) {
  return left.kind == right.kind && left.ranks == right.ranks && left.group == right.group &&
         left.sequence == right.sequence && left.step == right.step && left.host == right.host;
}

bool cannot_go_on(const HangTable& table) {
  return table.state == ThreadState::kGone || table.state == ThreadState::kStopped;
}

void say_verdict(const Hang& hang, int64_t now_ns) {
  std::string text = trace::hang_title(hang) + std::string(": ");
  for (const std::string& line : trace::hang_lines(hang, now_ns)) {
    text += printable(line) + "\nredline:   ";  // it may hold the words of an exception
  }
  text.resize(text.rfind('\n'));
  say(text);
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

ThreadState state_of(const HangTable& table) {
  const auto known = launch::read_process(static_cast<pid_t>(table.process));
  if (!known || known->dead()) return ThreadState::kGone;
  return known->state == 'T' || known->state == 't' ? ThreadState::kStopped : ThreadState::kUnknown;
}

}  // namespace

HangWatch::HangWatch(std::string folder, std::string run, double hang_after, OnHang on_hang,
                     std::optional<MeetingPlace> place)
    : folder_(std::move(folder)),
      run_(std::move(run)),
      host_(machine::host_name()),
      pid_namespace_(static_cast<int64_t>(redline::pid_namespace())),
      hang_after_(hang_after),
      on_hang_(on_hang),
      name_(host_ + " " + std::to_string(pid_namespace_) + " " + std::to_string(getpid())),
      meeting_(place ? std::make_unique<Meeting>(*std::move(place)) : nullptr) {
  oom_kills_.add(monotonic_ns(), machine::oom_kills());
  std::error_code ignored;
  for (const auto& path : trace::find_hang_tables(folder_)) {
    // Ranks of another launcher of this job may have been there first.
    const auto table = trace::parse_hang_table(read_file(path));
    const bool is_of_a_living_rank = table && table->written_ns > unix_ns() - kLeftNs &&
                                     (!is_here(*table) || state_of(*table) != ThreadState::kGone);
    if (!is_of_a_living_rank) std::filesystem::remove(path, ignored);
  }
  thread_.start([this] { watch(); });
}

HangWatch::~HangWatch() { finish(); }

bool HangWatch::finish() {
  if (!thread_.stop()) return has_ended_job_;
  if (!told_) remove_seen();
  try {
    tell_of_failure();
  } catch (const std::exception&) {  // no memory
  }
  return has_ended_job_;
}

void HangWatch::watch() {
  while (thread_.pause(kLookInterval)) {
    try {
      look();
    } catch (const std::exception&) {  // no memory: the next look may find some
    }
  }
}

void HangWatch::look() {
  oom_kills_.add(monotonic_ns(), machine::oom_kills());
  const bool is_listening = meeting_ && meeting_->try_to_listen();
  auto tables = read_tables(is_listening);
  const int64_t now_ns = unix_ns();
  std::optional<MetVerdict> verdict;
  if (meeting_ && !is_listening) verdict = ask_others(tables);
  if (!verdict) verdict = judge(tables, now_ns);
  if (is_listening) meeting_->set_verdict(*verdict);
  if (verdict->is_sure) take(*verdict->hang, tables, now_ns);
}

std::vector<HangTable> HangWatch::read_tables(bool is_listening) {
  auto tables = trace::read_hang_tables(folder_, run_);
  add_processes(tables);
  if (is_listening) add_met(tables);
  for (const HangTable& table : tables) {
    Heard& heard = heard_[table.rank];
    if (heard.written_ns != table.written_ns) heard = {table.written_ns, monotonic_ns()};
  }
  return tables;
}

MetVerdict HangWatch::judge(std::vector<HangTable>& tables, int64_t now_ns) {
  const auto waits = [](const HangTable& table) {
    return table.is_overdue && !cannot_go_on(table);
  };
  if (std::ranges::none_of(tables, waits)) {
    last_.reset();
    remove_seen();
    return {};
  }
  use_own_clock(tables);
  auto hang = trace::find_wait(tables);
  if (hang) {
    ask_silent(hang->ranks, tables);
    ask_programs(*hang, tables);
    hang = trace::find_wait(tables);
  }
  const bool is_told = is_sure(hang) && is_old_enough(*hang, tables, now_ns);
  return {std::move(hang), is_told};
}

// Another launcher judges. What this one sees of its ranks goes along with their tables. nullopt
// once nobody has answered for long.
std::optional<MetVerdict> HangWatch::ask_others(std::vector<HangTable>& tables) {
  if (last_) {
    ask_silent(last_->ranks, tables);
    ask_programs(*last_, tables);
  }
  std::vector<std::string> texts;
  for (const HangTable& table : tables) texts.push_back(seen_text(table, table.written_ns));
  auto verdict = meeting_->send(name_, texts);
  if (!verdict && monotonic_ns() - answered_ns_ >= kAnswerNs) {
    if (!std::exchange(has_told_alone_, true)) {
      say("nobody answers at " + meeting_->address() +
          ", so only this machine's ranks are looked at");
    }
    return std::nullopt;
  }
  if (verdict) answered_ns_ = monotonic_ns();
  last_ = verdict ? verdict->hang : std::nullopt;
  if (!last_) remove_seen();
  return verdict.value_or(MetVerdict{});
}

void HangWatch::add_met(std::vector<HangTable>& tables) {
  for (const std::string& text : meeting_->tables()) {
    auto table = trace::parse_hang_table(text);
    if (!table) continue;
    table->run = run_;  // who knows the token belongs to the job
    tables.push_back(*std::move(table));
  }
  trace::keep_one_job(tables, run_);
}

void HangWatch::take(const Hang& hang, const std::vector<HangTable>& tables, int64_t now_ns) {
  if (hang.kind == trace::HangKind::kSlow) {
    if (told_slow_.insert({hang.ranks.front(), hang.phase}).second) say_verdict(hang, now_ns);
    return;
  }
  if (told_ && is_same(*told_, hang)) return;
  told_ = hang;
  tell(hang, tables, now_ns);
  if (on_hang_ == OnHang::kTrace) write_traces(hang, tables);
  if (on_hang_ != OnHang::kAbort) return;
  // Without a table of it there is no host. The rank may live where no table is seen.
  hang.host.empty() ? say("the job is not ended, because nothing is known of what holds it up")
                    : end_job();
}

// The tables are written one after another, so that one look alone may mix two moments.
bool HangWatch::is_sure(const std::optional<Hang>& hang) {
  const auto now = std::chrono::steady_clock::now();
  if (!hang || !last_ || !is_same(*last_, *hang)) last_since_ = now;
  last_ = hang;
  return hang && std::chrono::duration<double>(now - last_since_).count() >=
                     std::min(kSureSeconds, hang_after_ / 2);
}

void HangWatch::end_job() {
  has_ended_job_ = true;
  if (meeting_) meeting_->wait_until_heard(kGrace);  // they end their ranks, too
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
    const bool can_speak = !cannot_go_on(table) && !is_silent(table);
    if (can_speak && age_ns(table) > kFreshNs) return false;
    // A culprit whose step is not overdue goes on, or will soon have been silent for long.
    const bool is_culprit = std::ranges::find(hang.ranks, table.rank) != hang.ranks.end();
    if (is_culprit && can_speak && !table.is_overdue && table.written_ns != 0) return false;
    usual_ns = std::max(usual_ns, table.usual_step_ns);
  }
  const auto asked_ns = static_cast<int64_t>(hang_after_ * 1e9);
  return hang.since_ns > 0 && now_ns - hang.since_ns >= std::max(asked_ns, kUsualSteps * usual_ns);
}

/// Whether the rank lives, and has not written its table for long. What comes from another machine
/// may come late.
bool HangWatch::is_silent(const HangTable& table) const {
  const int64_t limit_ns = table.host == host_ ? kFreshNs : 2 * kFreshNs;
  return !cannot_go_on(table) && age_ns(table) > limit_ns;
}

// By this machine's clock alone: those of others may go seconds before or after it.
int64_t HangWatch::age_ns(const HangTable& table) const {
  return monotonic_ns() - heard_.at(table.rank).at_ns;
}

// Of a rank elsewhere, by this machine's clock: how long before its table it entered a collective
// does not depend on its own, and the table was heard of soon after that.
void HangWatch::use_own_clock(std::vector<HangTable>& tables) const {
  const int64_t now_ns = unix_ns();
  for (HangTable& table : tables) {
    const int64_t late_ns = now_ns - age_ns(table) - table.written_ns;
    if (table.host == host_ || std::abs(late_ns) <= kFreshNs) continue;
    table.written_ns += late_ns;
    if (table.step_began_ns != 0) table.step_began_ns += late_ns;
    for (auto& entry : table.collectives) {
      if (entry.entered_ns != 0) entry.entered_ns += late_ns;
    }
  }
}

// Whether its process number is one of this launcher's machine and container.
bool HangWatch::is_here(const HangTable& table) const {
  return table.host == host_ &&
         (table.pid_namespace == 0 || pid_namespace_ == 0 || table.pid_namespace == pid_namespace_);
}

void HangWatch::add_processes(std::vector<HangTable>& tables) {
  int world_size = 0;
  for (HangTable& table : tables) {
    world_size = std::max(world_size, table.world_size);
    if (!is_here(table)) continue;
    processes_[table.rank] = table.process;
    const ThreadState state = state_of(table);
    if (state != ThreadState::kUnknown || cannot_go_on(table)) table.state = state;
    if (state == ThreadState::kGone && table.error.empty() && killed_for_memory(table.process)) {
      table.memory_error = "killed by the kernel: out of host memory";
    }
  }
  if (std::ssize(tables) >= world_size) return;
  for (const auto& [rank, process] : rank_processes(run_)) processes_[rank] = process;
  const int64_t now_ns = unix_ns();
  const std::vector<HangTable> told = tables;
  for (const auto& [rank, process] : processes_) {
    const auto has_rank = [rank = rank](const HangTable& table) { return table.rank == rank; };
    if (std::ranges::any_of(told, has_rank)) continue;
    HangTable silent;
    silent.run = run_;
    silent.rank = rank;
    silent.world_size = world_size;
    silent.host = host_;
    silent.process = process;
    silent.pid_namespace = pid_namespace_;
    silent.state = state_of(silent);
    silent.is_moving = silent.state == ThreadState::kUnknown &&
                       trace::has_step_after(folder_, run_, rank, now_ns - kFreshNs);
    tables.push_back(std::move(silent));
  }
}

// Whether the kernel's out-of-memory killer ran at about the time at which the rank ended.
bool HangWatch::killed_for_memory(int64_t process) {
  const auto known = ended_.find(process);
  if (known != ended_.end()) return known->second;
  return ended_[process] = oom_kills_.have_risen_to(machine::oom_kills());
}

// Ranks that an exception ended have left their last words, which tell who was the first.
void HangWatch::tell_of_failure() {
  const bool is_listening = meeting_ && meeting_->try_to_listen();
  auto tables = read_tables(is_listening);
  // The last that others hear of these ranks.
  if (meeting_ && !is_listening && ask_others(tables)) return;
  if (told_) return;
  const auto hang = trace::find_hang(tables);
  const auto failed = [](const HangTable& table) { return !table.error.empty(); };
  if (hang && hang->has_failed) {
    tell(*hang, tables, unix_ns());
  } else if (std::ranges::any_of(tables, failed)) {
    // A rank that was killed left no word, and a report would wait for it like the others did.
    write_all_seen(tables, unix_ns());
  }
}

void HangWatch::write_all_seen(const std::vector<HangTable>& tables, int64_t now_ns) {
  for (const HangTable& table : tables) {
    const bool is_seen_here = is_here(table) && (cannot_go_on(table) || is_silent(table));
    if (is_seen_here) write_seen(table.rank, seen_text(table, now_ns));
  }
}

void HangWatch::tell(const Hang& hang, const std::vector<HangTable>& tables, int64_t now_ns) {
  write_all_seen(tables, now_ns);
  if (meeting_) {
    for (const std::string& text : meeting_->tables()) {
      const auto known = trace::parse_hang_table(text);
      if (!known) continue;
      nlohmann::json table = nlohmann::json::parse(text);
      table["run"] = run_;
      write_seen(known->rank, json_text(table));
    }
  }
  say_verdict(hang, now_ns);
}

void HangWatch::write_traces(const Hang& hang, const std::vector<HangTable>& tables) {
  const auto since = std::filesystem::file_time_type::clock::now() -
                     std::chrono::nanoseconds(unix_ns() - hang.since_ns);
  const auto has_written = [&](const HangTable& table) {
    const std::string name = host_ + "_" + std::to_string(table.process) + ".";
    for (const std::string& path : launch::list_traces(folder_).whole) {
      std::error_code error;
      if (std::filesystem::path(path).filename().native().starts_with(name) &&
          std::filesystem::last_write_time(path, error) >= since && !error) {
        return true;
      }
    }
    return false;
  };
  const std::vector<pid_t> recorded = launch::all_recorded_processes();
  std::vector<pid_t> asked;
  for (const HangTable& table : tables) {
    const auto process = static_cast<pid_t>(table.process);
    const bool can_write = is_here(table) && !cannot_go_on(table) &&
                           std::ranges::find(recorded, process) != recorded.end();
    if (can_write && !has_written(table)) asked.push_back(process);
  }
  if (asked.empty()) return;
  launch::trigger(
      asked, {},
      [](const launch::TriggerReport& report) {
        if (!report.path.empty()) say("written while the job hangs: " + report.path);
        if (!report.error.empty()) say(report.error);
      },
      thread_.stopping());
}

}  // namespace redline::watch
