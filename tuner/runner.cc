#include "tuner/runner.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "profiler/launch/environment.h"
#include "tuner/measurement.h"
#include "tuner/memory_watch.h"
#include "tuner/metric.h"
#include "tuner/outcome.h"
#include "tuner/placeholders.h"
#include "tuner/process_tree.h"
#include "tuner/report_channel.h"
#include "tuner/trial_environment.h"
#include "tuner/trial_process.h"

namespace redline::tuner {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;
using OnProgress = std::function<void(const TrialProgress&)>;

constexpr std::chrono::milliseconds kPoll{50};
constexpr std::chrono::milliseconds kScanEvery{250};  // a look through all of /proc
constexpr std::chrono::milliseconds kShowEvery{200};
constexpr std::chrono::milliseconds kStopGrace{300};
constexpr std::chrono::milliseconds kFailureGrace{500};  // for the other ranks' reports
constexpr std::chrono::seconds kHangAfter{30};           // or kHangSteps median steps
constexpr int64_t kHangSteps = 5;
constexpr int64_t kFewestSteps = 4;  // of a command that ended before min_steps
constexpr size_t kTailBytes = 64 * 1024;
constexpr size_t kShownTailLines = 20;

std::string tail_of(const std::string& path, size_t bytes) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return "";
  const auto size = static_cast<size_t>(file.tellg());
  file.seekg(static_cast<std::streamoff>(size > bytes ? size - bytes : 0));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string last_lines(const std::string& text, size_t count) {
  size_t begin = text.size();
  while (begin > 0 && text[begin - 1] == '\n') --begin;
  const size_t end = begin;
  while (begin > 0 && (text[begin - 1] != '\n' || --count > 0)) --begin;
  return text.substr(begin, end - begin);
}

/// Processes that the kernel's out-of-memory killer ended since boot (proc 5).
int64_t oom_kills() {
  std::ifstream file("/proc/vmstat");
  std::string name;
  int64_t value = 0;
  while (file >> name >> value) {
    if (name == "oom_kill") return value;
  }
  return 0;
}

/// One run of the command; its steps in the order in which run_trial calls them.
class Trial {
 public:
  Trial(const TrialSpec& spec, const std::atomic<StopRequest>& stop, const OnProgress& on_progress)
      : spec_(spec),
        stop_request_(stop),
        on_progress_(on_progress),
        directory_(fs::absolute(spec.directory)),
        mark_(fmt::format("{}.{}.{}", spec.id, getpid(), Clock::now().time_since_epoch().count())),
        measurement_({.measure_for = spec.measure_for, .min_steps = spec.min_steps}) {}

  TrialResult run() {
    if (auto error = start()) return not_started(*error);
    watch();
    stop();
    return result();
  }

 private:
  /// Why the watching ended.
  enum class End : uint8_t { kExited, kMeasured, kFailureReported, kTimeout, kHang, kCancelled };

  std::optional<std::string> start();
  void watch();
  [[nodiscard]] std::optional<End> reason_to_stop();
  [[nodiscard]] bool hangs() const;
  void read_reports();
  void observe_processes();
  [[nodiscard]] bool show_is_due() const;
  [[nodiscard]] const char* phase() const;
  void show(const char* phase);
  void stop();

  [[nodiscard]] TrialResult not_started(const std::string& error) const;
  [[nodiscard]] TrialResult result();
  [[nodiscard]] std::optional<Throughput> throughput() const;
  [[nodiscard]] Evidence evidence() const;
  [[nodiscard]] Verdict verdict() const;
  [[nodiscard]] Verdict verdict_on_step_size() const;
  [[nodiscard]] std::string why_nothing_was_measured() const;
  [[nodiscard]] std::optional<uint64_t> peak_memory() const;

  void take(const StepReport& report);
  void take(const FailureReport& report);
  void take(const SeenReport& report);
  void take(const NoteReport& report);

  [[nodiscard]] std::string path(const char* name) const { return directory_ / name; }
  [[nodiscard]] bool reports_by_metric() const { return !spec_.metric_regex.empty(); }

  const TrialSpec& spec_;
  const std::atomic<StopRequest>& stop_request_;
  const OnProgress& on_progress_;
  fs::path directory_;
  std::string mark_;
  Measurement measurement_;

  Clock::time_point begin_ = Clock::now();
  Clock::time_point last_scan_;
  Clock::time_point last_shown_;
  std::optional<Clock::time_point> first_failure_;
  int64_t oom_kills_before_ = oom_kills();
  std::optional<ReportChannel> channel_;
  std::optional<ProcessTree> tree_;
  std::optional<TrialGuard> guard_;
  std::optional<uint64_t> data_limit_;
  MemoryWatch memory_;
  uint64_t device_memory_ = 0;
  std::optional<uint64_t> memory_capacity_;
  std::vector<FailureReport> failures_;
  Config observed_;
  std::vector<std::string> notes_;
  End end_ = End::kExited;
};

std::optional<std::string> Trial::start() {
  if (spec_.command.empty()) return "the command is empty";
  std::error_code error;
  fs::create_directories(directory_ / "tmp", error);
  if (error) return directory_.string() + ": " + error.message();
  auto channel = ReportChannel::create(path("reports"));
  if (!channel) return channel.error();
  channel_.emplace(std::move(*channel));

  std::set<std::string> used;
  StartOptions options;
  for (const std::string& word : spec_.command) {
    options.argv.push_back(fill_placeholders(word, spec_.config, &used));
  }
  const launch::Environment variables =
      trial_environment({spec_.config, std::move(used), path("reports"), path("tmp"), mark_,
                         spec_.memory_limit_bytes});
  options.environment = variables.strings();
  options.stdout_path = path("stdout");
  options.stderr_path = path("stderr");
  if (!sees_gpu(variables)) data_limit_ = spec_.memory_limit_bytes;
  options.data_limit_bytes = data_limit_;

  // Orphans of the trial become children of this process, where the tree finds and reaps them.
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  const auto root = start_command(options);
  if (!root) return root.error();
  tree_.emplace(*root, mark_);
  guard_.emplace(*root, mark_);
  return std::nullopt;
}

void Trial::watch() {
  std::optional<End> end;
  while (!(end = reason_to_stop())) {
    // Not woken by each report: ranks of fast steps would keep a core busy that they need.
    std::this_thread::sleep_for(kPoll);
    read_reports();
    observe_processes();
    if (show_is_due()) show(phase());
  }
  end_ = *end;
}

std::optional<Trial::End> Trial::reason_to_stop() {
  const auto now = Clock::now();
  if (stop_request_ != StopRequest::kNone) return End::kCancelled;
  if (tree_->root_status()) return End::kExited;
  if (first_failure_ && now - *first_failure_ > kFailureGrace) return End::kFailureReported;
  if (!first_failure_ && !reports_by_metric() && measurement_.complete()) return End::kMeasured;
  if (now - begin_ > spec_.timeout) return End::kTimeout;
  if (hangs()) return End::kHang;
  return std::nullopt;
}

bool Trial::hangs() const {
  if (measurement_.latest_ns() == 0) return false;  // still starting: the timeout's business
  const int64_t silence = Clock::now().time_since_epoch().count() - measurement_.latest_ns();
  const int64_t patience =
      std::max(nanoseconds(kHangAfter).count(), kHangSteps * measurement_.median_step_ns());
  return silence > patience;
}

void Trial::read_reports() {
  for (const Report& report : channel_->read()) {
    std::visit([this](const auto& value) { take(value); }, report);
  }
}

void Trial::take(const StepReport& report) {
  measurement_.add(report);
  if (report.peak_memory_bytes)
    device_memory_ = std::max(device_memory_, *report.peak_memory_bytes);
  if (report.memory_capacity_bytes) memory_capacity_ = report.memory_capacity_bytes;
}

void Trial::take(const FailureReport& report) {
  failures_.push_back(report);
  if (!first_failure_) first_failure_ = Clock::now();
}

void Trial::take(const SeenReport& report) {
  if (report.rank == 0) observed_.insert(report.knobs.begin(), report.knobs.end());
}

void Trial::take(const NoteReport& report) {
  if (std::find(notes_.begin(), notes_.end(), report.text) == notes_.end()) {
    notes_.push_back(report.text);
  }
}

void Trial::observe_processes() {
  const auto now = Clock::now();
  if (now - last_scan_ >= kScanEvery) {
    last_scan_ = now;
    tree_->scan();
  }
  memory_.sample(tree_->living());
}

bool Trial::show_is_due() const { return Clock::now() - last_shown_ >= kShowEvery; }

const char* Trial::phase() const {
  if (measurement_.steps() == 0) return "starting";
  return measurement_.estimate(1) ? "measuring" : "warming up";
}

void Trial::show(const char* phase) {
  last_shown_ = Clock::now();
  if (!on_progress_) return;
  TrialProgress progress{phase, measurement_.steps(), std::nullopt};
  if (const auto estimate = measurement_.estimate()) {
    progress.samples_per_s = estimate->samples_per_s;
  }
  on_progress_(progress);
}

void Trial::stop() {
  show("ending");
  // What ranks had to say is read before they are told to go: their dying words would blame peers.
  read_reports();
  const bool by_itself = tree_->root_status().has_value();
  const bool at_once = end_ == End::kHang || stop_request_ == StopRequest::kKill;
  const auto left = tree_->stop(at_once ? nanoseconds(0) : nanoseconds(kStopGrace));
  if (by_itself) read_reports();
  if (!left.empty()) {
    notes_.push_back(fmt::format("{} processes could not be ended, even by SIGKILL: first pid {}",
                                 left.size(), left.front()));
  }
  guard_.reset();
}

TrialResult Trial::not_started(const std::string& error) const {
  TrialResult result;
  result.outcome = Outcome::kInvalid;
  result.message = "could not start: " + error;
  result.wall = Clock::now() - begin_;
  return result;
}

std::optional<Throughput> Trial::throughput() const {
  if (reports_by_metric()) {
    const auto value = last_match(tail_of(path("stdout"), SIZE_MAX), spec_.metric_regex);
    if (!value) return std::nullopt;
    return Throughput{*value, *value, *value};
  }
  if (auto estimate = measurement_.estimate()) return estimate;
  // A training that is shorter than the plan is measured as far as it went.
  return measurement_.estimate(kFewestSteps);
}

Evidence Trial::evidence() const {
  Evidence evidence;
  evidence.failures = failures_;
  evidence.stepped = measurement_.latest_ns() != 0;
  evidence.oom_killer_ran = oom_kills() > oom_kills_before_;
  evidence.stderr_text = tail_of(path("stderr"), kTailBytes);
  if (end_ == End::kExited) evidence.wait_status = tree_->root_status();
  std::error_code error;
  for (const auto& file : fs::recursive_directory_iterator(directory_ / "tmp", error)) {
    if (file.path().filename() == "error.json") {
      evidence.error_files.push_back(tail_of(file.path(), kTailBytes));
    }
  }
  return evidence;
}

Verdict Trial::verdict() const {
  if (end_ == End::kCancelled) return {Outcome::kCancelled, -1, "cancelled"};
  if (end_ == End::kMeasured) return verdict_on_step_size();
  const Verdict found = judge(evidence());
  if (found.outcome != Outcome::kOk) return found;
  if (std::isnan(throughput().value_or(Throughput{}).samples_per_s)) {
    return {Outcome::kNanLoss, -1, "the metric is NaN"};
  }
  if (end_ == End::kHang) {
    return {Outcome::kHang, -1,
            fmt::format(
                "no step for {} s",
                std::chrono::ceil<std::chrono::seconds>(
                    nanoseconds(Clock::now().time_since_epoch().count() - measurement_.latest_ns()))
                    .count())};
  }
  if (throughput()) return verdict_on_step_size();
  if (end_ == End::kTimeout) {
    return {Outcome::kHang, -1,
            fmt::format("no result within {} s",
                        std::chrono::duration_cast<std::chrono::seconds>(spec_.timeout).count())};
  }
  return {Outcome::kInvalid, -1, why_nothing_was_measured()};
}

Verdict Trial::verdict_on_step_size() const {
  const int64_t samples = measurement_.median_step_samples();
  if (!spec_.global_batch || samples == 0 || samples == *spec_.global_batch) return {};
  return {Outcome::kInvalid, -1,
          fmt::format("a step took {} samples over {} rank{}, not the {} of --global-batch",
                      samples, measurement_.world_size(), measurement_.world_size() == 1 ? "" : "s",
                      *spec_.global_batch)};
}

std::string Trial::why_nothing_was_measured() const {
  if (reports_by_metric()) return "the command ended and no line on stdout matches --metric";
  if (measurement_.latest_ns() == 0) {
    return "the command ended without an optimizer step that the hook could see; programs that are "
           "not PyTorch in Python need --metric";
  }
  return fmt::format("the command ended after {} counted steps, too few to measure",
                     measurement_.steps());
}

std::optional<uint64_t> Trial::peak_memory() const {
  if (!spec_.memory_metric_regex.empty()) {
    const auto value = last_match(tail_of(path("stdout"), SIZE_MAX), spec_.memory_metric_regex);
    if (value && *value >= 0) return static_cast<uint64_t>(*value);
  }
  if (device_memory_ > 0) return device_memory_;
  if (memory_.peak_bytes() == 0) return std::nullopt;
  // Address space that was asked for and refused shows in the kernel's peak.
  return std::min(memory_.peak_bytes(), data_limit_.value_or(UINT64_MAX));
}

TrialResult Trial::result() {
  const Verdict found = verdict();
  TrialResult result;
  result.outcome = found.outcome;
  result.failed_rank = found.rank;
  result.message = found.message;
  if (found.outcome == Outcome::kOk) {
    result.throughput = throughput();
  } else {
    result.stderr_tail = last_lines(tail_of(path("stderr"), kTailBytes), kShownTailLines);
  }
  result.peak_memory_bytes = peak_memory();
  result.memory_capacity_bytes = memory_capacity_;
  result.data_wait_share = measurement_.data_wait_share();
  result.steps = measurement_.steps();
  result.ranks = measurement_.latest_ns() == 0 ? 0 : measurement_.world_size();
  result.observed = observed_;
  result.notes = notes_;
  if (channel_->garbage() > 0) {
    result.notes.push_back(fmt::format("{} lines were no reports", channel_->garbage()));
  }
  if (measurement_.first_ns() != 0) {
    result.start_up = nanoseconds(measurement_.first_ns() - begin_.time_since_epoch().count());
  }
  std::error_code ignored;
  fs::remove_all(directory_ / "tmp", ignored);
  fs::remove(path("reports"), ignored);
  result.wall = Clock::now() - begin_;
  return result;
}

}  // namespace

TrialResult run_trial(const TrialSpec& spec, const std::atomic<StopRequest>& stop,
                      const std::function<void(const TrialProgress&)>& on_progress) {
  return Trial(spec, stop, on_progress).run();
}

}  // namespace redline::tuner
