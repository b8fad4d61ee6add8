#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/format.h"
#include "trace/report/jobs.h"
#include "trace/report/run_words.h"

namespace redline::trace {
namespace {

constexpr int64_t kOldNs = 5'000'000'000;  // figures that are so old are not passed off as new
constexpr double kQuietNs = 10e9;  // a step that is the longest ago by that much is shown in red

std::string wait_text(int64_t ns) { return format_wait(std::chrono::nanoseconds(ns)); }

void write_job_titles(TextCanvas& canvas) {
  canvas.left("JOB", 27, Hue::kDim).right("steps", 10, Hue::kDim);
  canvas.right("steps/s", 9, Hue::kDim).right("samples/s", 11, Hue::kDim);
  canvas.right("waits", 7, Hue::kDim).right("last step", 16, Hue::kDim).end_line();
}

// Hosts may have long names, behind which the figures stand.
void write_wrapped(TextCanvas& canvas, const std::string& text, Hue hue) {
  for (const std::string& line : wrapped(text, kTerminalColumns - 2)) {
    canvas.left("  ").left(line, kTerminalColumns - 2, hue).end_line();
  }
}

void write_ranks_line(TextCanvas& canvas, const RecentRun& run) {
  std::string line =
      std::ssize(run.ranks) == run.world_size
          ? format_plural(run.world_size, "rank")
          : fmt::format("{} of {}", run.ranks.size(), format_plural(run.world_size, "rank"));
  if (run.slowest) {
    const RecentRank& rank = run.ranks[*run.slowest];
    line += fmt::format(" · rank {} on {}: {:.0f} % more work of its own than the median",
                        rank.rank, rank.host, 100 * run.slowest_excess);
  }
  write_wrapped(canvas, line, run.slowest ? Hue::kYellow : Hue::kDim);
}

void write_silent_rank(TextCanvas& canvas, const RecentRun& run, int64_t read_ns) {
  if (!run.most_silent || run.ranks.size() < 2) return;
  const RecentRank& rank = run.ranks[*run.most_silent];
  int64_t newest_ns = 0;
  for (const RecentRank& other : run.ranks) newest_ns = std::max(newest_ns, other.last_step_ns);
  // The logs of many ranks are read one after the other, and the last ones hold later steps.
  const auto behind = static_cast<double>(std::min(newest_ns, read_ns) - rank.last_step_ns);
  if (behind < std::max(kQuietNs, 3 * rank.step_ns)) return;
  write_wrapped(canvas,
                fmt::format("rank {} on {} ended its last step {} ago, others later", rank.rank,
                            rank.host, wait_text(read_ns - rank.last_step_ns)),
                Hue::kRed);
}

void write_recent(TextCanvas& canvas, const RecentRun& run, int64_t read_ns) {
  canvas.right(format_count(run.steps), 10).right(format_number(run.steps_per_s), 9);
  canvas.right(run.samples_per_s ? format_number(*run.samples_per_s) : "n/a", 11);
  canvas.right(run.data_wait_share ? fmt::format("{:.0f} %", 100 * *run.data_wait_share) : "n/a",
               7);
  if (!run.most_silent) {
    canvas.right("ended", 16).end_line();
    return;
  }
  const RecentRank& rank = run.ranks[*run.most_silent];
  const auto age_ns = std::max<int64_t>(0, read_ns - rank.last_step_ns);
  const bool is_long = static_cast<double>(age_ns) > std::max(kQuietNs, 3 * rank.step_ns);
  canvas.right(wait_text(age_ns) + " ago", 16, is_long ? Hue::kRed : Hue::kNone).end_line();
}

}  // namespace

std::string jobs_text(const ReadJobs& read, const TextStyle& style, int64_t now_ns) {
  if (read.jobs.empty()) return "";
  TextCanvas canvas(style);
  canvas.end_line();
  write_job_titles(canvas);
  for (const RunningJob& job : read.jobs) {
    canvas.left(elide_middle(job.folder, 26), 27, Hue::kBold);
    if (job.recent) {
      write_recent(canvas, *job.recent, read.read_ns);
      write_ranks_line(canvas, *job.recent);
      write_silent_rank(canvas, *job.recent, read.read_ns);
    } else {
      canvas.dim_line("no step yet");
    }
    if (!job.unreadable_logs.empty()) {
      const std::string line = unreadable_logs_text(job.unreadable_logs);
      canvas.left("  ").left(elide_middle(line, kTerminalColumns - 2), 0, Hue::kRed).end_line();
    }
  }
  if (const int64_t age_ns = now_ns - read.read_ns; age_ns >= kOldNs) {
    canvas.dim_line(
        fmt::format("  as of {} ago: reading the logs takes so long that it is done seldom",
                    wait_text(age_ns)));
  }
  return canvas.take();
}

}  // namespace redline::trace
