// redline monitor: shows what the machine, its GPUs and the jobs on it do right now.
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/file.h"
#include "base/format.h"
#include "base/terminal.h"
#include "cli/command.h"
#include "cli/shared_options.h"
#include "machine/monitor/snapshot.h"
#include "profiler/request/logged_jobs.h"
#include "trace/report/jobs.h"
#include "trace/run/folder.h"

namespace redline::cli {
namespace {

using std::chrono::nanoseconds;
using Clock = std::chrono::steady_clock;

struct MonitorOptions {
  bool once = false;
  std::string format = "text";
  double interval_s = 1;
  std::string prometheus;
};

constexpr nanoseconds kOnceInterval = std::chrono::milliseconds(200);

/// Waits until `time`, or until a signal ends the program, which gives false. No signal is missed.
bool wait_until(Clock::time_point time, const std::atomic<bool>& interrupted) {
  sigset_t ours, before;
  sigemptyset(&ours);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ours, number);
  sigprocmask(SIG_BLOCK, &ours, &before);
  while (!interrupted) {
    const nanoseconds left = time - Clock::now();
    if (left.count() <= 0) break;
    const timespec timeout = {.tv_sec = left.count() / 1'000'000'000,
                              .tv_nsec = left.count() % 1'000'000'000};
    ppoll(nullptr, 0, &timeout, &before);
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
  return !interrupted;
}

/// Draws each table over the last one, and leaves out lines and columns for which the terminal has
/// no room.
class Screen {
 public:
  [[nodiscard]] std::string draw(const std::string& table) {
    std::string text = lines_ > 0 ? "\033[" + std::to_string(lines_) + "A\r" : "";
    lines_ = 0;
    const ScreenSize size = screen_size(STDOUT_FILENO);
    for (size_t begin = 0; begin < table.size() && lines_ + 1 < size.rows; ++lines_) {
      const size_t end = std::min(table.find('\n', begin), table.size());
      // Behind a full line the terminal would erase its last letter.
      text += "\033[K" + cut_painted(table.substr(begin, end - begin), size.columns) + "\n";
      begin = end + 1;
    }
    return text + "\033[J";
  }

 private:
  size_t lines_ = 0;
};

std::vector<trace::RunningJob> read_running_jobs() {
  std::vector<trace::RunningJob> jobs;
  for (const launch::LoggedJob& job : launch::running_logged_jobs()) {
    jobs.push_back(trace::read_running_job(job.reached_by, job.run));
    jobs.back().folder = job.folder;
  }
  return jobs;
}

/// The file of --prom. Where a look cannot be written there, and after the end, there is none:
/// nobody shall take old figures for new ones.
class PrometheusFile {
 public:
  explicit PrometheusFile(std::string path) : path_(std::move(path)) {}

  /// If the first look cannot be written, the path is wrong. Later a disk may be full for a while.
  /// That is said once, and each later look tries to write again.
  [[nodiscard]] int write(const std::string& figures) {
    if (!was_written_) {
      const int status = write_output(figures, path_, "--prom");
      was_written_ = status == kDone;
      if (!was_written_) remove();
      return status;
    }
    const auto written = write_file(path_, figures);
    if (!written) {
      remove();
      if (!fails_) say(written.error() + ". It is tried again at each look");
    }
    fails_ = !written;
    return kDone;
  }

  void remove() const {
    if (may_become_file(path_)) unlink(behind_links(path_).c_str());
  }

 private:
  std::string path_;
  bool was_written_ = false;
  bool fails_ = false;
};

std::string shown(const monitor::Snapshot& machine, const trace::ReadJobs& jobs,
                  const std::string& format, const TextStyle& style) {
  if (format == "json") return monitor::as_json(machine, trace::jobs_json(jobs));
  return monitor::as_text(machine, style) + trace::jobs_text(jobs, style, machine.time_ns);
}

/// What is wrong with a value of --interval, in seconds; "" if nothing is.
std::string problem_of_interval(const std::string& text) {
  const double seconds = number_in(text);
  return seconds >= 0.1 && seconds <= 3600 ? "" : "must be from 0.1s to 1h";
}

int monitor(const MonitorOptions& options) {
  const auto& interrupted = interrupt_flag();
  const TextStyle style = style_of(STDOUT_FILENO);
  const bool redraws = !options.once && is_screen(STDOUT_FILENO);
  std::string gap;  // a line between two tables
  const auto interval =
      std::chrono::duration_cast<nanoseconds>(std::chrono::duration<double>(options.interval_s));
  std::optional<monitor::Watcher> machine;  // Prometheus' own exporters watch machines
  if (options.prometheus.empty()) machine.emplace();
  trace::JobWatcher job_watcher(read_running_jobs);
  PrometheusFile prometheus(options.prometheus);
  Screen screen;
  auto next = Clock::now() + (options.once ? std::min(interval, kOnceInterval) : interval);
  while (wait_until(next, interrupted)) {
    next = std::max(next + interval, Clock::now());
    const trace::ReadJobs& jobs = job_watcher.look(unix_ns());
    int status = kDone;
    if (machine) {
      const std::string look = shown(machine->look(), jobs, options.format, style);
      status = write_output(redraws ? screen.draw(look) : gap + look, "");
      if (options.format == "text") gap = "\n";
    } else {
      status = prometheus.write(trace::jobs_prometheus(jobs));
    }
    if (status != kDone || options.once) return status;
  }
  if (!machine) prometheus.remove();
  return kDone;
}

}  // namespace

void add_monitor(CLI::App& app, int& status) {
  auto* command = app.add_subcommand(
      "monitor", "Show the load of each GPU and of the host, and the running jobs, live");
  const auto options = std::make_shared<MonitorOptions>();
  command->add_flag("--once", options->once, "Print once and end");
  auto* format = command
                     ->add_option("--format", options->format,
                                  "text, or json: an object a line (schema redline.monitor/1)")
                     ->check(CLI::IsMember({"text", "json"}))
                     ->capture_default_str();
  command->add_option("--interval", options->interval_s, "Time between two looks, 0.1s to 1h (1s)")
      ->transform(as_seconds())
      ->check(problem_of_interval)
      ->option_text("TIME");
  command
      ->add_option("--prom", options->prometheus,
                   "Write the jobs' figures to FILE at each look, for Prometheus' textfile "
                   "collector (its name ends in .prom), and print nothing")
      ->option_text("FILE")
      ->check([](const std::string& path) -> std::string {
        return path.ends_with(".prom") ? ""
                                       : "the collector reads only files whose name ends in .prom";
      })
      ->excludes(format);
  command->footer(
      "Jobs are those of this user that log their steps (redline run --log, redline record,\n"
      "autotune); their figures are those of the last minute.\n"
      "Ctrl-C ends it. Without an NVIDIA driver it shows no GPU. n/a: this GPU or job does not\n"
      "report the figure. Traces have the same figures of the machine, as counters.\n"
      "Examples:\n"
      "  redline monitor\n"
      "  redline monitor --interval 5s >> monitor.log\n"
      "  redline monitor --once --format json | jq '.gpus[].busy'\n"
      "  redline monitor --interval 15s --prom /var/lib/node_exporter/redline.prom");
  command->callback([options, &status] { status = monitor(*options); });
}

}  // namespace redline::cli
