// What the launcher sees of the ranks that cannot say where they are, and writes down for others.
#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/json_values.h"
#include "machine/launch/environment.h"
#include "machine/thread_times.h"
#include "machine/thread_wait.h"
#include "trace/emit/json_scan.h"
#include "trace/read/hang_tables.h"
#include "watch/hang_watch.h"
#include "watch/program_stack.h"

namespace redline::watch {
namespace {

using trace::Hang;
using trace::HangTable;
using trace::ThreadState;

constexpr int64_t kStarvedNs = 1'000'000'000;  // _STARVED_SECONDS of _hang_table.py
constexpr int kMostQuestions = 3;              // to a program in C++: where it is

// What the names of a rank's files begin with. Two jobs may use one folder.
std::string path_begin(const std::string& folder, int rank, const std::string& run) {
  return folder + "/rank" + std::to_string(rank) + (run.empty() ? "" : "." + run);
}

}  // namespace

void HangWatch::ask_silent(const std::vector<int>& ranks, std::vector<HangTable>& tables) {
  int64_t latest_step = 0;
  for (const HangTable& table : tables) {
    latest_step = std::max(latest_step, table.step.value_or(0));
  }
  for (HangTable& table : tables) {
    const bool is_asked = std::ranges::find(ranks, table.rank) != ranks.end();
    if (!is_asked || table.thread == 0 || !is_here(table) || !is_silent(table)) continue;
    table.state =
        trace::thread_state_of(machine::thread_wait(std::to_string(table.process), table.thread));
    const auto times = machine::thread_times(std::to_string(table.process), table.thread);
    const int64_t core_ns = times ? times->run_ns : 0;
    Silent& silent = silent_[table.rank];
    if (silent.written_ns != table.written_ns) {
      silent = {table.written_ns, core_ns, ask_stack(table)};
    }
    // What its last table says may be of an earlier step.
    if (table.step.value_or(0) < latest_step) table.phase.clear();
    // On a crowded machine its other threads may only lack a core.
    table.is_moving = table.state == ThreadState::kRuns && core_ns - silent.core_ns < kStarvedNs;
    if (silent.frames.empty()) continue;
    table.stack.clear();
    for (const AskedFrame& frame : silent.frames) {
      if (!frame.is_library()) table.stack.push_back(frame.text());
    }
    table.inner = silent.frames.front().is_library() ? silent.frames.front().text() : "";
  }
}

// A program in C++ does not say where it is. Each rank of this machine that takes part in a hang is
// asked until it answers, but not for ever, because it is stopped for each question.
void HangWatch::ask_programs(const Hang& hang, std::vector<HangTable>& tables) {
  if (hang.kind == trace::HangKind::kSlow) return;
  const auto place = std::tuple(hang.group, hang.sequence, hang.step);
  if (std::exchange(asked_place_, place) != place) asked_programs_.clear();
  const auto takes_part = [&](int rank) {
    return std::ranges::find(hang.ranks, rank) != hang.ranks.end() ||
           std::ranges::find(hang.waiting_ranks, rank) != hang.waiting_ranks.end();
  };
  // Whatever a table says, no process of anybody else is stopped.
  const auto is_of_run = [&](const HangTable& table) {
    const auto variables = launch::Environment::of_process(static_cast<pid_t>(table.process));
    return variables.get("REDLINE_LOG_RUN").value_or("") == run_;
  };
  for (HangTable& table : tables) {
    const bool can_be_asked = table.is_of_program() && is_here(table) && table.is_overdue &&
                              table.state != ThreadState::kGone && takes_part(table.rank);
    int& questions = asked_programs_[table.rank];
    if (!can_be_asked || questions == kMostQuestions || !is_of_run(table)) continue;
    ++questions;
    table.stack =
        program_stack(static_cast<pid_t>(table.process), static_cast<pid_t>(table.thread));
    if (table.stack.empty()) continue;
    questions = kMostQuestions;
    write_seen(table.rank, seen_text(table, table.written_ns));
  }
}

// The rank's table with what it cannot write itself, so that other launchers know it, and a report
// says the same later.
std::string HangWatch::seen_text(const HangTable& table, int64_t written_ns) const {
  using nlohmann::json;
  const std::string own =
      read_file(path_begin(folder_, table.rank, table.run) + trace::kHangTableSuffix);
  const std::string line = own.substr(0, own.find('\n'));
  json object = json::parse(line, nullptr, false);
  if (!object.is_object() || trace::is_too_deep(line)) {
    object = {
        {"schema", "redline.hang/1"},          {"run", table.run},   {"rank", table.rank},
        {"world_size", table.world_size},      {"host", table.host}, {"process", table.process},
        {"pid_namespace", table.pid_namespace}};
  }
  object["written_ns"] = written_ns;
  object.erase("sealed_ns");
  object["state"] = trace::thread_state_name(table.state);
  object["stack"] = table.stack;
  object["inner"] = table.inner;
  object["phase"] = table.phase;
  object["moving"] = table.is_moving;
  object["memory_error"] = table.memory_error;
  return json_text(object);
}

void HangWatch::write_seen(int rank, const std::string& text) {
  const std::string path = path_begin(folder_, rank, run_) + ".seen" + trace::kHangTableSuffix;
  if (write_file(path, text + "\n")) seen_paths_.push_back(path);
}

void HangWatch::remove_seen() {
  std::error_code ignored;
  for (const std::string& path : seen_paths_) std::filesystem::remove(path, ignored);
  seen_paths_.clear();
  asked_programs_.clear();
}

}  // namespace redline::watch
