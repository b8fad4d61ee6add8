#include "trace/read/hang_tables.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "base/file.h"
#include "base/json_values.h"
#include "base/parallel.h"
#include "trace/emit/json_scan.h"
#include "trace/read/flight_dumps.h"
#include "trace/read/rank_files.h"

namespace redline::trace {
namespace {

using nlohmann::json;

constexpr int kMoreTries = 3;
constexpr int64_t kFreshNs = 5'000'000'000;  // a rank writes its table each second
constexpr std::string_view kStateNames[] = {
    "", "runs", "sleeps", "lock", "io", "stopped", "gone"};  // in the order of ThreadState

const json& list_in(const json& object, const char* key) {
  static const json none = json::array();
  const auto value = object.find(key);
  return value != object.end() && value->is_array() ? *value : none;
}

void read_lists(const json& object, HangTable& table) {
  for (const json& row : list_in(object, "groups")) {
    if (!row.is_object()) continue;
    CollectiveGroup group{text_in(row, "name"), {}, whole_in(row, "entered")};
    for (const json& rank : list_in(row, "ranks")) {
      if (rank.is_number_integer()) group.ranks.push_back(rank.get<int>());
    }
    table.groups.push_back(std::move(group));
  }
  for (const json& row : list_in(object, "collectives")) {
    if (!row.is_object()) continue;
    table.collectives.push_back({text_in(row, "group"), whole_in(row, "sequence"),
                                 text_in(row, "operation"), text_in(row, "sizes"),
                                 text_in(row, "types"), flag_in(row, "done"),
                                 whole_in(row, "entered_ns")});
  }
  for (const json& row : list_in(object, "entries")) {
    if (auto entry = collective_of_torch(row)) table.collectives.push_back(*std::move(entry));
  }
  for (const json& frame : list_in(object, "stack")) {
    if (frame.is_string()) table.stack.push_back(frame.get<std::string>());
  }
}

// The names of the runs beside `run` that have a rank of it, too, at the same time: in one
// allocation of Slurm all jobs have one name.
std::set<std::string> jobs_beside(const std::vector<HangTable>& tables, const std::string& run) {
  std::map<int, int64_t> written_ns;  // by rank
  for (const HangTable& table : tables) {
    if (table.run != run) continue;
    int64_t& last_ns = written_ns[table.rank];
    last_ns = std::max(last_ns, table.written_ns);
  }
  std::set<std::string> beside;
  for (const HangTable& table : tables) {
    const auto own = written_ns.find(table.rank);
    if (table.run == run || own == written_ns.end()) continue;
    if (std::abs(own->second - table.written_ns) < kFreshNs) beside.insert(table.run);
  }
  return beside;
}

// torchrun may start a job again with fewer ranks. The others' last tables stay.
void drop_earlier_start(std::vector<HangTable>& tables) {
  const auto latest = std::ranges::max_element(tables, {}, &HangTable::written_ns);
  if (latest == tables.end()) return;
  const int world_size = latest->world_size;
  const int64_t fresh_ns = latest->written_ns - kFreshNs;
  std::erase_if(tables, [&](const HangTable& table) {
    return table.world_size != world_size && table.rank >= world_size &&
           table.written_ns < fresh_ns;
  });
}

}  // namespace

ThreadState thread_state_of(std::string_view word) {
  const auto at = std::ranges::find(kStateNames, word);
  if (at == std::end(kStateNames)) return ThreadState::kUnknown;
  return static_cast<ThreadState>(at - std::begin(kStateNames));
}

std::string_view thread_state_name(ThreadState state) {
  return kStateNames[static_cast<size_t>(state)];
}

std::optional<HangTable> parse_hang_table(const std::string& text) {
  // A shorter table leaves the end of a longer one behind its line.
  const std::string line = text.substr(0, text.find('\n'));
  if (is_too_deep(line)) return std::nullopt;
  const json object = json::parse(line, nullptr, false);
  if (!object.is_object() || text_in(object, "schema") != "redline.hang/1") return std::nullopt;
  const bool is_sealed = object.contains("sealed_ns");
  if (is_sealed && whole_in(object, "sealed_ns") != whole_in(object, "written_ns")) {
    return std::nullopt;  // it was read while it was written
  }
  HangTable table;
  table.run = text_in(object, "run");
  table.job = text_in(object, "job");
  table.rank = static_cast<int>(whole_in(object, "rank"));
  table.world_size = static_cast<int>(whole_in(object, "world_size"));
  table.host = text_in(object, "host");
  table.process = whole_in(object, "process");
  table.pid_namespace = whole_in(object, "pid_namespace");
  table.thread = whole_in(object, "thread");
  table.answer = {static_cast<int>(whole_in(object, "stack_signal")),
                  static_cast<int>(whole_in(object, "stack_file")),
                  whole_in(object, "stack_thread"), whole_in(object, "thread_ident")};
  table.written_ns = whole_in(object, "written_ns");
  table.is_overdue = flag_in(object, "overdue");
  if (object.contains("step") && object["step"].is_number_integer()) {
    table.step = object["step"].get<int64_t>();
  }
  table.step_began_ns = whole_in(object, "step_began_ns");
  table.usual_step_ns = whole_in(object, "usual_step_ns");
  table.phase = text_in(object, "phase");
  table.is_met = flag_in(object, "met");
  table.is_moving = flag_in(object, "moving");
  table.error = text_in(object, "error");
  table.memory_error = text_in(object, "memory_error");
  table.state = thread_state_of(text_in(object, "state"));
  table.inner = text_in(object, "inner");
  read_lists(object, table);
  return table;
}

std::vector<std::string> find_hang_tables(const std::string& folder) {
  return find_rank_files(folder, kHangTableSuffix);
}

std::vector<HangTable> read_hang_tables(const std::string& folder, const std::string& run) {
  const std::vector<std::string> paths = find_hang_tables(folder);
  std::vector<std::optional<HangTable>> read(paths.size());
  constexpr size_t kOfThread = 64;
  const auto threads = static_cast<unsigned>(1 + paths.size() / kOfThread);
  for_each_index(std::min(threads, thread_count(0)), paths.size(), [&](size_t index, unsigned) {
    read[index] = parse_hang_table(read_file(paths[index]));
    for (int more = 0; !read[index] && more < kMoreTries; ++more) {  // it may be written just now
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      read[index] = parse_hang_table(read_file(paths[index]));
    }
  });
  std::vector<HangTable> tables;
  for (auto& table : read) {
    if (table) tables.push_back(*std::move(table));
  }
  keep_one_job(tables, run);
  return tables;
}

void keep_one_job(std::vector<HangTable>& tables, const std::string& run) {
  std::string wanted = run;
  if (run.empty()) {
    for (const HangTable& table : tables) wanted = std::max(wanted, table.run);
  }
  std::string job;
  int64_t named_ns = 0;
  for (const HangTable& table : tables) {
    if (table.run != wanted || table.job.empty() || table.written_ns < named_ns) continue;
    job = table.job;  // after a restart, torchrun has another port
    named_ns = table.written_ns;
  }
  const std::set<std::string> beside = jobs_beside(tables, wanted);
  std::erase_if(tables, [&](const HangTable& table) {
    const bool is_of_job = !job.empty() && table.job == job && !beside.contains(table.run);
    return table.run != wanted && !is_of_job;
  });
  std::ranges::sort(
      tables, {}, [](const HangTable& table) { return std::pair(table.rank, -table.written_ns); });
  const auto is_same_rank = [](const HangTable& left, const HangTable& right) {
    return left.rank == right.rank;
  };
  for (size_t i = 1; i < tables.size(); ++i) {
    HangTable& latest = tables[i - 1];
    const bool lacks_stack = latest.is_of_program() && latest.stack.empty();
    const bool is_its_own = is_same_rank(latest, tables[i]) && latest.process == tables[i].process;
    if (lacks_stack && is_its_own) latest.stack = std::move(tables[i].stack);
  }
  tables.erase(std::unique(tables.begin(), tables.end(), is_same_rank), tables.end());
  drop_earlier_start(tables);
  add_unknown_groups(tables);
}

}  // namespace redline::trace
