#include <fmt/format.h>

#include <functional>

#include "base/printable.h"
#include "trace/report/jobs.h"

namespace redline::trace {
namespace {

// A label's value: UTF-8, without which the whole file is refused. The format wants backslash and
// quote escaped; a line end does not come through printable().
std::string label_value(const std::string& text) {
  std::string escaped;
  for (const char c : printable(text)) {
    if (c == '\\' || c == '"') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

template <typename Subject>
struct Metric {
  const char* name;
  const char* type;
  const char* help;
  std::function<std::optional<double>(const Subject&)> value;
};

std::optional<double> seconds_of(double ns) { return ns * 1e-9; }

const std::vector<Metric<RecentRun>>& job_metrics() {
  static const std::vector<Metric<RecentRun>> metrics = {
      {"redline_job_ranks", "gauge", "Ranks of the job with a readable step log.",
       [](const RecentRun& run) { return static_cast<double>(run.ranks.size()); }},
      {"redline_job_world_size", "gauge", "All ranks of the job.",
       [](const RecentRun& run) { return run.world_size; }},
      {"redline_job_steps_total", "counter", "Training steps since the start of the job.",
       [](const RecentRun& run) { return static_cast<double>(run.steps); }},
      {"redline_job_steps_per_second", "gauge",
       "Training steps a second in the last minute; 0 when the job makes none.",
       [](const RecentRun& run) { return run.steps_per_s; }},
      {"redline_job_samples_per_second", "gauge",
       "Samples a second of the ranks with a log, in the last minute; 0 when they make no step.",
       [](const RecentRun& run) { return run.samples_per_s; }},
      {"redline_job_tokens_per_second", "gauge",
       "Tokens a second of the ranks with a log, in the last minute; 0 when they make no step.",
       [](const RecentRun& run) { return run.tokens_per_s; }},
  };
  return metrics;
}

const std::vector<Metric<RecentRank>>& rank_metrics() {
  static const std::vector<Metric<RecentRank>> metrics = {
      {"redline_rank_step_seconds", "gauge",
       "Mean length of a step in the last minute that has one.",
       [](const RecentRank& rank) { return seconds_of(rank.step_ns); }},
      {"redline_rank_own_seconds", "gauge", "The same without waiting for collectives.",
       [](const RecentRank& rank) {
         return rank.own_ns ? seconds_of(*rank.own_ns) : std::nullopt;
       }},
      {"redline_rank_data_wait_ratio", "gauge", "Share of the time spent waiting for data, 0 to 1.",
       [](const RecentRank& rank) { return rank.data_wait_share; }},
      {"redline_rank_memory_bytes", "gauge",
       "Memory that torch reserved on the rank's GPUs, or without a GPU that of the process.",
       [](const RecentRank& rank) -> std::optional<double> {
         if (!rank.memory_bytes) return std::nullopt;
         return static_cast<double>(*rank.memory_bytes);
       }},
      // A rank that has ended must not pass for one that hangs.
      {"redline_rank_last_step_timestamp_seconds", "gauge",
       "When the last step of a rank that has not ended was over, unix time.",
       [](const RecentRank& rank) {
         return rank.ended ? std::nullopt : seconds_of(static_cast<double>(rank.last_step_ns));
       }},
  };
  return metrics;
}

/// Writes a metric's comments once, before its first value.
template <typename Subject>
class MetricLines {
 public:
  explicit MetricLines(const Metric<Subject>& metric) : metric_(metric) {}

  void add(const Subject& subject, const std::string& labels) {
    const auto value = metric_.value(subject);
    if (!value) return;
    if (text_.empty()) {
      text_ =
          fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", metric_.name, metric_.help, metric_.type);
    }
    text_ += fmt::format("{}{{{}}} {}\n", metric_.name, labels, *value);
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  const Metric<Subject>& metric_;
  std::string text_;
};

std::string job_labels(const RunningJob& job) {
  return fmt::format("run=\"{}\",log=\"{}\"", label_value(job.run), label_value(job.folder));
}

std::string rank_labels(const RunningJob& job, const RecentRank& rank) {
  return fmt::format("{},rank=\"{}\",host=\"{}\"", job_labels(job), rank.rank,
                     label_value(rank.host));
}

std::string job_lines(const Metric<RecentRun>& metric, const std::vector<RunningJob>& jobs) {
  MetricLines lines(metric);
  for (const RunningJob& job : jobs) {
    if (job.recent) lines.add(*job.recent, job_labels(job));
  }
  return lines.text();
}

}  // namespace

std::string jobs_prometheus(const ReadJobs& read) {
  const std::vector<RunningJob>& jobs = read.jobs;
  const auto read_seconds = [&](const RecentRun&) {
    return seconds_of(static_cast<double>(read.read_ns));
  };
  std::string text =
      job_lines({"redline_job_read_timestamp_seconds", "gauge",
                 "When the other figures were read from the step logs, unix time.", read_seconds},
                jobs);
  for (const auto& metric : job_metrics()) text += job_lines(metric, jobs);
  for (const auto& metric : rank_metrics()) {
    MetricLines lines(metric);
    for (const RunningJob& job : jobs) {
      if (!job.recent) continue;
      for (const RecentRank& rank : job.recent->ranks) lines.add(rank, rank_labels(job, rank));
    }
    text += lines.text();
  }
  return text;
}

}  // namespace redline::trace
