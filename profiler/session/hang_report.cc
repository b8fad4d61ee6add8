#include "profiler/session/hang_report.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/clock.h"
#include "base/file.h"
#include "base/json_values.h"
#include "base/pid_namespace.h"
#include "base/quiet_thread.h"
#include "base/statistics.h"
#include "base/user_switch.h"
#include "machine/resources.h"
#include "machine/thread_times.h"
#include "machine/thread_wait.h"
#include "profiler/session/abort_watch.h"
#include "profiler/session/recorder.h"
#include "profiler/session/step_log.h"
#include "profiler/source/interpreter.h"
#include "profiler/source/run_metadata.h"

namespace redline::profiler {
namespace {

using nlohmann::json;

// As in python/redline/_hang_table.py, which says why.
constexpr int64_t kOneSecondNs = 1'000'000'000;
constexpr auto kTableInterval = std::chrono::seconds(1);
constexpr int64_t kOverdueNs = 2 * kOneSecondNs;
constexpr int64_t kOverdueSteps = 3;
constexpr int64_t kFewestSteps = 3;
constexpr int64_t kStartNs = 300 * kOneSecondNs;
constexpr int64_t kStartWithoutStepsNs = 60 * kOneSecondNs;  // after the first collective
constexpr size_t kMostLengths = 64;
constexpr size_t kMostCollectives = 64;
constexpr size_t kMostOpenCollectives = 192;
constexpr const char* kUnreadKeys[] = {"op_id",        "output_dtypes",
                                       "output_sizes", "p2p_seq_id",
                                       "thread_id",    "thread_name",
                                       "timeout_ms",   "time_discovered_completed_ns",
                                       "record_id",    "time_discovered_started_ns"};
constexpr double kBusyShare = 0.01;
constexpr int64_t kStarvedNs = kOneSecondNs;

// As _job_name() of _hang_table.py, which says why.
std::string job_name() {
  const std::string address = user_variable("MASTER_ADDR"), port = user_variable("MASTER_PORT");
  std::string place = address.empty() || port.empty() ? "" : address + ":" + port;
  const std::string job = user_variable("SLURM_JOB_ID");
  if (job.empty()) return place;
  const bool is_of_each_node = address == "localhost" || address == "127.0.0.1" || address == "::1";
  if (place.empty() || is_of_each_node) place = "step " + user_variable("SLURM_STEP_ID");
  return "slurm " + job + " " + place;
}

bool is_done(const json& entry) {
  return entry.value("retired", json()) == true || entry.value("state", json()) == "completed";
}

// The last ones, and those that are not done, however old. Of what two ranks send each other, the
// others know nothing.
json latest(json entries) {
  std::erase_if(entries.get_ref<json::array_t&>(),
                [](const json& entry) { return entry.value("is_p2p", json()) == true; });
  const size_t late = entries.size() - std::min(entries.size(), kMostCollectives);
  json kept = json::array();
  for (size_t i = 0; i < entries.size(); ++i) {
    if (i < late && (is_done(entries[i]) || kept.size() >= kMostOpenCollectives)) continue;
    json& entry = kept.emplace_back(entries[i]);
    for (const char* key : kUnreadKeys) entry.erase(key);
  }
  return kept;
}

std::vector<std::string> told_by(EnteredCollectives& source) {
  std::vector<std::string> texts;
  const TakeText take = [](const char* text, size_t size, void* to) {
    static_cast<std::vector<std::string>*>(to)->emplace_back(text, size);
  };
  source.tell(take, &texts);
  return texts;
}

// Adds what a source tells to the table's lists, and counts the collectives that were entered.
int64_t add_lists(const json& told, json& lists) {
  int64_t entered = 0;
  for (const char* name : {"groups", "collectives", "entries"}) {
    const json list = told.is_object() ? told.value(name, json::array()) : json();
    if (!list.is_array() || list.empty()) continue;
    const bool is_of_torch = name == std::string_view("entries");
    json& all = lists.emplace(name, json::array()).first.value();
    for (const json& row : is_of_torch ? latest(list) : list) all.push_back(row);
    if (is_of_torch) entered += list.back().value("record_id", int64_t{0}) + 1;
    if (name != std::string_view("groups")) continue;
    for (const json& group : list) entered += group.value("entered", int64_t{0});
  }
  return entered;
}

}  // namespace

HangReport& HangReport::instance() {
  static auto* const report = new HangReport;
  return *report;
}

HangReport::HangReport()
    : process_(getpid()),
      rank_(launched_rank().value_or(JobRank{})),
      folder_(user_variable("REDLINE_LOG")),
      run_(user_variable("REDLINE_LOG_RUN")) {}

void HangReport::add(EnteredCollectives* source) {
  if (user_variable("REDLINE_HANG_TABLES").empty() || folder_.empty() || has_interpreter()) return;
  const std::lock_guard lock(mutex_);
  sources_.push_back(source);
  if (thread_) return;
  thread_ = start_quiet_thread([this] { run(); });
}

void HangReport::run() {
  bool hears_exit = false;
  for (;;) {
    const bool is_aborting = wait_for_abort(kTableInterval);
    // Not in add(), which may run before main(): what is registered there runs only after the
    // static objects of LibTorch are destroyed.
    if (!std::exchange(hears_exit, true)) {
      ::on_exit([](int status, void*) { instance().end(status); }, nullptr);
    }
    const std::lock_guard lock(mutex_);
    if (is_over_) return end_abort_watch();
    try {
      is_aborting ? write_last() : look();
    } catch (const std::exception&) {  // no memory, or a torch that lists them in another form
    }
    if (is_aborting) return end_abort_watch();
  }
}

std::unique_lock<std::timed_mutex> HangReport::lock_to_end() {
  if (getpid() != process_) return {};
  // The folder's disk may hang, too, and must not keep the process from its end.
  return std::unique_lock(mutex_, kTableInterval);
}

void HangReport::stop() {
  if (const auto lock = lock_to_end()) is_over_ = true;
}

// If not as it should, the table stays, and the launcher sees that the process is gone.
void HangReport::end(int status) {
  const auto lock = lock_to_end();
  if (!lock) return;
  is_over_ = true;
  if (status == 0 && !path_.empty()) unlink(path_.c_str());
}

void HangReport::look() {
  const int64_t now_ns = monotonic_ns();
  const auto steps = StepLog::instance().progress();
  if (steps.steps == 0) list();  // only the collectives tell whether it moves
  if (steps.steps == 0 && entered_ == 0) return;
  Progress now;
  if (steps.steps > 0) {
    now = {steps.steps, steps.steps, steps.age_ns, steps.steps <= kFewestSteps};
    now.is_early = now.is_early && now.open_ns < kStartNs;
  } else {
    now = {std::nullopt, entered_, now_ns - entered_since_ns_,
           now_ns - first_entered_ns_ < kStartWithoutStepsNs};
  }
  note(now, now_ns);
  const bool overdue = is_overdue(now);
  if (overdue && steps.steps > 0) list();
  json table = owner(now);
  table["overdue"] = overdue;
  if (overdue) {
    for (const auto& [key, value] : collectives_.items()) table[key] = value;
    add_thread(table, now_ns);
    if (now.is_early) table["phase"] = "start";
  }
  write(std::move(table));
}

void HangReport::write_last() {
  list();
  const auto steps = StepLog::instance().progress();
  Progress now{std::nullopt, entered_, monotonic_ns() - entered_since_ns_, false};
  if (steps.steps > 0) now = {steps.steps, steps.steps, steps.age_ns, false};
  json table = owner(now);
  for (const auto& [key, value] : collectives_.items()) table[key] = value;
  table.update({{"overdue", true}, {"state", "gone"}, {"error", "aborted (SIGABRT)"}});
  write(std::move(table));
}

// Asks which collectives were entered, and when the last one was.
void HangReport::list() {
  collectives_ = json::object();
  int64_t entered = 0;
  for (EnteredCollectives* source : sources_) {
    for (const auto& text : told_by(*source)) {
      entered += add_lists(json::parse(text, nullptr, false), collectives_);
    }
  }
  if (entered == entered_) return;
  entered_since_ns_ = monotonic_ns();
  if (entered_ == 0) first_entered_ns_ = entered_since_ns_;
  entered_ = entered;
}

// Of each look that saw a step's end, how long the steps since the last one took.
void HangReport::note(const Progress& now, int64_t now_ns) {
  const int64_t began_ns = now_ns - now.open_ns;
  if (seen_ && *seen_ == now.seen) return;
  if (seen_ && now.step && now.seen > *seen_) {
    lengths_.push_back((began_ns - seen_began_ns_) / (now.seen - *seen_));
    if (lengths_.size() > kMostLengths) lengths_.pop_front();
  }
  seen_ = now.seen;
  seen_began_ns_ = began_ns;
  if (operators_ >= 0) {
    for (EnteredCollectives* source : sources_) source->count_operators(false);
    operators_ = -1;
  }
}

int64_t HangReport::usual_step_ns() const {
  return lengths_.empty() ? 0 : upper_median(std::vector(lengths_.begin(), lengths_.end()));
}

bool HangReport::is_overdue(const Progress& now) const {
  return now.open_ns > std::max(kOverdueNs, kOverdueSteps * usual_step_ns());
}

json HangReport::owner(const Progress& now) const {
  const int64_t written_ns = read_clocks().realtime_ns;
  json table{{"schema", "redline.hang/1"},
             {"run", run_},
             {"job", job_name()},
             {"rank", rank_.rank},
             {"world_size", rank_.world_size},
             {"host", machine::host_name()},
             {"process", process_},
             {"pid_namespace", pid_namespace()},
             {"thread", process_},
             {"written_ns", written_ns},
             {"step_began_ns", written_ns - now.open_ns},
             {"usual_step_ns", usual_step_ns()},
             {"met", !user_variable("REDLINE_HANG_MEET").empty()},
             {"sealed_ns", written_ns}};
  if (now.step) table["step"] = *now.step;
  return table;
}

// What the training thread does, which is the first one.
void HangReport::add_thread(json& table, int64_t now_ns) {
  const auto times = machine::thread_times("self", process_);
  const int64_t core_ns = times ? times->run_ns : 0;
  int64_t operators = 0;
  for (EnteredCollectives* source : sources_) operators += source->count_operators(true);
  const bool is_first = operators_ < 0;
  bool is_moving = !is_first && operators != operators_;
  if (is_first || is_moving) core_at_operator_ns_ = core_ns;
  const double share =
      is_first ? 0
               : static_cast<double>(core_ns - core_ns_) / static_cast<double>(now_ns - looked_ns_);
  const std::string state(share > kBusyShare ? "runs" : machine::thread_wait("self", process_));
  // On a busy machine, a thread that runs may be about to call the next operator.
  is_moving = is_moving || (state == "runs" && core_ns - core_at_operator_ns_ < kStarvedNs);
  operators_ = operators;
  core_ns_ = core_ns;
  looked_ns_ = now_ns;
  table["state"] = state;
  table["moving"] = is_moving;
}

void HangReport::write(json table) {
  const std::string run = run_.empty() ? "" : "." + run_;  // two jobs may use one folder
  path_ = folder_ + "/rank" + std::to_string(rank_.rank) + run + ".hang.redline";
  // Opened each time: other machines see what was written once it is closed.
  const FileDescriptor file(open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  const std::string text = json_text(table) + "\n";
  static_cast<void>(write_all(file.get(), text));
}

void add_collectives(EnteredCollectives* source) noexcept {
  try {
    HangReport::instance().add(source);
  } catch (const std::exception&) {  // no memory: the job goes on without
  }
}

void end_of_sources() noexcept {
  try {
    HangReport::instance().stop();
    Recorder::instance().capture().end();
  } catch (const std::exception&) {  // no memory: there was none for a thread that calls sources
  }
}

}  // namespace redline::profiler
