#include "tuner/trial/trial.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "machine/launch/process_tree.h"
#include "machine/launch/tracked_command.h"
#include "machine/oom_kills.h"
#include "profiler/request/record_request.h"
#include "profiler/request/recording_summary.h"
#include "tuner/trial/trial_end.h"
#include "tuner/trial/trial_files.h"

namespace redline::tuner {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;
using OnProgress = std::function<void(const TrialProgress&)>;

constexpr std::chrono::milliseconds kTrialPoll{50};
constexpr std::chrono::milliseconds kScanEvery{250};  // a look through all of /proc
constexpr std::chrono::milliseconds kShowEvery{200};
constexpr std::chrono::milliseconds kStopGrace{300};
constexpr std::chrono::milliseconds kFailureGrace{500};  // time for the other ranks to report, too
// Or after kHangSteps median steps, if that is longer.
constexpr std::chrono::seconds kHangAfter{30};
constexpr int64_t kHangSteps = 5;

/// One run of the command. Its functions stand in the order in which run_trial() calls them.
class TrialRun {
 public:
  TrialRun(const TrialSpec& spec, const std::atomic<StopRequest>& stop,
           const OnProgress& on_progress)
      : spec_(spec),
        stop_request_(stop),
        on_progress_(on_progress),
        paths_{fs::absolute(spec.directory)},
        mark_(fmt::format("{}.{}.{}", spec.id, getpid(), Clock::now().time_since_epoch().count())),
        reports_({.measure_for = spec.measure_for,
                  .min_steps = spec.min_steps,
                  .rate_to_beat = spec.rate_to_beat.value_or(0),
                  .infers = spec.infers}) {
    if (spec.slurm) step_.emplace(paths_.directory.parent_path().string(), mark_);
  }

  TrialResult run() {
    if (auto unfit = expected_not_to_fit()) return *unfit;
    if (auto error = start()) return could_not_start(*error);
    watch();
    stop();
    return result();
  }

 private:
  std::optional<std::string> start();
  void watch();
  [[nodiscard]] std::optional<TrialEnd> reason_to_stop();
  [[nodiscard]] bool recorded() const;
  [[nodiscard]] bool hangs() const;
  [[nodiscard]] bool takes_too_long() const;
  void read_reports();
  void observe_processes();
  [[nodiscard]] bool show_is_due() const;
  [[nodiscard]] const char* phase() const;
  void show(const char* phase);
  void stop();

  [[nodiscard]] std::optional<TrialResult> expected_not_to_fit() const;
  [[nodiscard]] TrialResult could_not_start(const std::string& error) const;
  [[nodiscard]] TrialResult result();
  [[nodiscard]] nanoseconds silence() const;

  [[nodiscard]] bool reports_by_metric() const { return !spec_.metric_regex.empty(); }

  const TrialSpec& spec_;
  const std::atomic<StopRequest>& stop_request_;
  const OnProgress& on_progress_;
  TrialPaths paths_;
  std::string mark_;
  RankReports reports_;
  const Measurement& measurement_ = reports_.measurement();

  Clock::time_point begin_ = Clock::now();
  Clock::time_point last_scan_;
  Clock::time_point last_shown_;
  int64_t oom_kills_before_ = machine::oom_kills();
  std::optional<ReportChannel> channel_;
  std::optional<launch::ProcessTree> tree_;
  std::optional<SlurmStep> step_;
  std::optional<launch::EndGuard> guard_;
  std::optional<uint64_t> data_limit_;
  std::optional<TrialResources> resources_;
  nanoseconds silence_{0};
  std::string disturbance_;
  std::string stacks_;
  std::optional<launch::RecordNotes> record_notes_;
  TrialEnd end_ = TrialEnd::kExited;
};

std::optional<TrialResult> TrialRun::expected_not_to_fit() const {
  if (!spec_.expected_use) return std::nullopt;
  const HostRoom room = host_room();
  const std::optional<Outcome> lack = lacking(*spec_.expected_use, room);
  if (!lack) return std::nullopt;
  TrialResult result;
  result.outcome = *lack;
  result.message = lacking_text(*spec_.expected_use, room);
  result.not_started = true;
  return result;
}

std::optional<std::string> TrialRun::start() {
  if (spec_.command.empty()) return "the command is empty";
  std::error_code error;
  fs::create_directories(paths_.directory, error);
  if (!error) fs::create_directories(paths_.temporary(), error);
  if (!error) fs::create_directories(paths_.stacks(), error);
  if (error) return paths_.directory.string() + ": " + error.message();
  auto channel = ReportChannel::create(paths_.reports(), spec_.slurm);
  if (!channel) return channel.error();
  channel_.emplace(std::move(*channel));
  if (!spec_.record_to.empty()) {
    const std::string folder = fs::absolute(spec_.record_to);
    if (auto ready = launch::prepare_directory(folder); !ready) {
      return spec_.record_to + ": " + ready.error();
    }
    record_notes_.emplace(folder);
  }
  const auto start = prepare_start(spec_, paths_, mark_, step_, record_notes_);
  if (!start) return start.error();
  data_limit_ = start->options.data_limit_bytes;
  resources_.emplace(spec_, start->variables);
  // Before the first step, because energy is the difference of two readings.
  resources_->sample_slowly();

  guard_.emplace(mark_, [step = step_] {
    if (step) (void)step->stop(kStopGrace);
  });
  const auto root = launch::start_tracked(start->options);
  if (!root) return root.error();
  tree_.emplace(*root, mark_);
  return std::nullopt;
}

void TrialRun::watch() {
  std::optional<TrialEnd> end;
  while (!(end = reason_to_stop())) {
    // It polls, because being woken by every report of a job with fast steps would keep a core busy
    // that the job needs.
    std::this_thread::sleep_for(kTrialPoll);
    read_reports();
    observe_processes();
    if (show_is_due()) show(phase());
  }
  end_ = *end;
  silence_ = silence();
}

std::optional<TrialEnd> TrialRun::reason_to_stop() {
  const auto now = Clock::now();
  if (stop_request_ != StopRequest::kNone) return TrialEnd::kCancelled;
  if (tree_->root_status()) return TrialEnd::kExited;
  const auto failure = reports_.first_failure();
  if (failure && now - *failure > kFailureGrace) return TrialEnd::kFailureReported;
  if (!failure && !reports_by_metric()) {
    if (measurement_.complete() && recorded()) return TrialEnd::kMeasured;
    if (measurement_.behind() && recorded()) return TrialEnd::kBehind;
  }
  if (takes_too_long()) return hangs() ? TrialEnd::kHang : TrialEnd::kTimeout;
  if (hangs() && !spec_.may_pause) return TrialEnd::kHang;
  return std::nullopt;
}

bool TrialRun::recorded() const {
  return spec_.record_to.empty() ||
         std::ssize(launch::list_traces(spec_.record_to).whole) >= measurement_.world_size();
}

bool TrialRun::takes_too_long() const {
  const auto now = Clock::now();
  const auto begun = reports_.begun();
  if (!begun) return now - begin_ > std::max(spec_.timeout, spec_.start_timeout);
  const auto compiled = std::min(reports_.compile_time(), spec_.compile_timeout);
  return now - std::min(*begun, begin_ + spec_.start_timeout) > spec_.timeout + compiled;
}

bool TrialRun::hangs() const {
  if (measurement_.latest_ns() == 0) return false;  // still starting, so the timeout decides
  if (reports_.compiling() && reports_.compile_time() < spec_.compile_timeout) return false;
  if (reports_by_metric() && reports_.steps_without_batch() > 0) return false;
  return silence() >
         std::max<nanoseconds>(kHangAfter, kHangSteps * nanoseconds(measurement_.median_step_ns()));
}

void TrialRun::read_reports() {
  for (const Report& report : channel_->read()) reports_.take(report);
}

void TrialRun::observe_processes() {
  const auto now = Clock::now();
  if (now - last_scan_ >= kScanEvery) {
    last_scan_ = now;
    tree_->scan();
    resources_->sample_slowly();
  }
  resources_->sample(tree_->living(), measurement_.steps() > 0);
}

bool TrialRun::show_is_due() const { return Clock::now() - last_shown_ >= kShowEvery; }

const char* TrialRun::phase() const {
  if (reports_.compiling()) return "compiling";
  if (measurement_.steps() == 0) return "starting";
  return measurement_.estimate(1) ? "measuring" : "warming up";
}

void TrialRun::show(const char* phase) {
  last_shown_ = Clock::now();
  if (!on_progress_) return;
  TrialProgress progress{phase, measurement_.steps(), std::nullopt};
  if (const auto estimate = measurement_.estimate()) {
    progress.samples_per_s = estimate->samples_per_s;
  }
  on_progress_(progress);
}

void TrialRun::stop() {
  show("ending");
  disturbance_ = resources_->disturbance(tree_->living());
  if (end_ == TrialEnd::kHang || end_ == TrialEnd::kTimeout) {
    stacks_ = hang_stacks(tree_->scan(), paths_.stacks());
  }
  // Reads the reports before the ranks are ended, because a rank that dies then blames its peers.
  read_reports();
  resources_->sample_slowly();  // after the last step, so that its energy lies between two readings
  const bool by_itself = tree_->root_status().has_value();
  const bool at_once = end_ == TrialEnd::kHang || stop_request_ == StopRequest::kKill;
  if (step_ && !step_->stop(at_once ? nanoseconds(0) : nanoseconds(kStopGrace))) {
    reports_.note("Slurm still lists the trial's step after a minute");
  }
  const auto left = tree_->stop(at_once ? nanoseconds(0) : nanoseconds(kStopGrace));
  if (by_itself) read_reports();
  if (!left.empty()) {
    reports_.note(fmt::format("{} processes could not be ended, even by SIGKILL: first pid {}",
                              left.size(), left.front()));
  }
  for (const std::string& held : resources_->wait_for_gpu_memory(stop_request_)) {
    reports_.note(held);
  }
  guard_.reset();
}

TrialResult TrialRun::could_not_start(const std::string& error) const {
  TrialResult result;
  result.outcome = Outcome::kInvalid;
  result.message = "could not start: " + error;
  result.wall = Clock::now() - begin_;
  return result;
}

nanoseconds TrialRun::silence() const {
  return nanoseconds(Clock::now().time_since_epoch().count() - reports_.last_sign_ns());
}

TrialResult TrialRun::result() {
  TrialResult result =
      result_of({.spec = spec_,
                 .paths = paths_,
                 .end = end_,
                 .reports = reports_,
                 .resources = *resources_,
                 .record_notes = record_notes_,
                 .wait_status = end_ == TrialEnd::kExited ? tree_->root_status() : std::nullopt,
                 .oom_killer_ran = machine::oom_kills() > oom_kills_before_,
                 .data_limit = data_limit_,
                 .silence = silence_,
                 .garbage = channel_->garbage(),
                 .disturbance = disturbance_,
                 .stacks = stacks_});
  if (measurement_.first_ns() != 0) {
    result.start_up = nanoseconds(measurement_.first_ns() - begin_.time_since_epoch().count());
  }
  paths_.remove();
  result.wall = Clock::now() - begin_;
  return result;
}

}  // namespace

TrialResult run_trial(const TrialSpec& spec, const std::atomic<StopRequest>& stop,
                      const std::function<void(const TrialProgress&)>& on_progress) {
  return TrialRun(spec, stop, on_progress).run();
}

}  // namespace redline::tuner
