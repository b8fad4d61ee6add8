#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "base/format.h"
#include "trace/report/hang_words.h"
#include "trace/report/report.h"
#include "trace/report/report_figures.h"
#include "trace/report/report_text_page.h"
#include "trace/report/report_words.h"

namespace redline::trace {
namespace {

constexpr size_t kBarWidth = 40;
constexpr size_t kFewIssues = 6;
constexpr size_t kTitleColumns = 11, kBeside = kTerminalColumns - kTitleColumns;

Hue hue_of(BreakdownPart part) {
  switch (part) {
    case BreakdownPart::kKernel:
      return Hue::kBlue;
    case BreakdownPart::kCommunication:
      return Hue::kOrange;
    case BreakdownPart::kMemcpy:
    case BreakdownPart::kMemset:
      return Hue::kGreen;
    case BreakdownPart::kDataLoader:
      return Hue::kRed;
    case BreakdownPart::kRuntime:
    case BreakdownPart::kCpu:
      return Hue::kViolet;
    default:
      return Hue::kDim;
  }
}

// "2 x Tesla V100 · 31.7 GiB · sm_70"
std::string machine(const Report& report) {
  const RankSummary* summary = first_with_gpus(report.traces);
  const int64_t gpus = count_gpus(report);
  if (summary == nullptr) {
    const std::string& backend = report.traces.front().facts.backend;
    const bool lacks_gpu = std::ranges::any_of(
        report.traces, [](const RankSummary& each) { return each.unrecorded_gpu.has_value(); });
    const bool is_unsure = std::ranges::any_of(report.traces, &RankSummary::may_hide_gpu_work);
    const char* what = lacks_gpu   ? "GPU work not recorded"
                       : is_unsure ? "no GPU work that Redline knows"
                                   : "CPU only";
    return what + (backend.empty() ? "" : " · " + backend);
  }
  const GpuUse& first = summary->gpus.front();
  if (const auto names = gpu_names(report); names.size() > 1) {
    return fmt::format("{} GPUs: {}", gpus, fmt::join(names, ", "));
  }
  if (!first.properties) {
    return gpus > 1 ? fmt::format("{} GPUs", gpus) : fmt::format("GPU {}", first.device);
  }
  const DeviceProperties& device = *first.properties;
  std::string what = (gpus > 1 ? fmt::format("{} x ", gpus) : "") + device.name;
  if (device.memory_bytes > 0) what += " · " + format_bytes(device.memory_bytes);
  if (device.compute_major > 0) {
    what += fmt::format(" · sm_{}{}", device.compute_major, device.compute_minor);
  }
  return what;
}

std::string loaded(const Report& report) {
  uint64_t skipped = 0;
  for (const RankSummary& summary : report.traces) {
    for (const LoadIssue& issue : summary.facts.issues) {
      if (issue.info().lost_data) skipped += issue.count;
    }
  }
  std::string what =
      skipped == 0 ? "nothing skipped" : format_count(static_cast<int64_t>(skipped)) + " skipped";
  if (!report.unreadable.empty()) {
    what = format_plural(std::ssize(report.unreadable), "file") + " left out";
  }
  if (report.load_seconds == 0) return what;
  return fmt::format("loaded in {:.2f} s, {}", report.load_seconds, what);
}

struct ShownIssue {
  const std::string* path;
  const LoadIssue* issue;
};

// All issues: those that lost data before those that were repaired, the most frequent first.
std::vector<ShownIssue> all_issues(const Report& report) {
  std::vector<ShownIssue> shown;
  for (const RankSummary& summary : report.traces) {
    for (const LoadIssue& issue : summary.facts.issues) {
      shown.push_back({&summary.facts.path, &issue});
    }
  }
  std::ranges::stable_sort(shown, std::greater(), [](const ShownIssue& row) {
    return std::pair(row.issue->info().lost_data, row.issue->count);
  });
  return shown;
}

// Wraps words beside a title of kTitleColumns. A word longer than `width` is elided, if that is not
// 0.
void write_beside(TextPage& page, std::string title, Hue title_hue, const std::string& words,
                  size_t width, Hue hue) {
  for (const std::string& line : wrapped(words, kBeside)) {
    page.canvas.left(title, 0, title_hue).left(line, width, hue).end_line();
    title.assign(kTitleColumns, ' ');
  }
}

void write_issue(TextPage& page, const LoadIssue& issue, const std::string& file) {
  const IssueInfo& info = issue.info();
  page.canvas
      .left(info.lost_data ? "! skipped" : "! repaired", kTitleColumns,
            info.lost_data ? Hue::kYellow : Hue::kDim)
      .left(fmt::format("{} x {}, first at byte {}{}",
                        format_count(static_cast<int64_t>(issue.count)), info.name,
                        issue.first_offset, file),
            kBeside)
      .end_line();
  page.canvas.left("", kTitleColumns).dim_line(info.sentence);
  if (page.scope.top != TextScope::kAll) return;
  page.canvas.left("", kTitleColumns).dim_line(info.advice);
}

void write_issues(TextPage& page) {
  for (const std::string& message : page.report.unreadable) {
    page.canvas.left("! left out ", 0, Hue::kYellow)
        .left(elide_middle(message, kBeside))
        .end_line();
  }
  const std::vector<ShownIssue> issues = all_issues(page.report);
  const size_t most = page.scope.top == TextScope::kAll ? issues.size() : kFewIssues;
  for (size_t i = 0; i < std::min(most, issues.size()); ++i) {
    const auto [path, issue] = issues[i];
    const std::string file = page.report.traces.size() == 1 ? "" : " in " + file_name(*path);
    write_issue(page, *issue, file);
  }
  if (issues.size() > most) {
    page.canvas.dim_line(
        fmt::format("! {} more kinds of skips and repairs: --all", issues.size() - most));
  }
  for (const std::string& note : trace_notes(page.report)) {
    write_beside(page, "! note     ", Hue::kYellow, note, 0, Hue::kNone);
  }
}

// Why the traces were written comes first: it is what somebody who has a flight recorder looks for.
void write_reasons(TextPage& page) {
  write_hang(page);
  const std::vector<std::string> lines = reason_lines(page.report);
  const size_t shown = page.scope.top == TextScope::kAll ? lines.size() : kFewIssues;
  for (size_t i = 0; i < std::min(shown, lines.size()); ++i) {
    page.canvas.left("! written  ", 0, Hue::kYellow).left(lines[i], kBeside).end_line();
  }
  if (lines.size() > shown) {
    page.canvas.dim_line(fmt::format("! {} more ranks say why: --all", lines.size() - shown));
  }
}

std::string with_deviation(const MeanStep& step, int64_t count) {
  std::string text = format_ns(step.mean_ns);
  if (count < 2) return text;
  const double unit = step.mean_ns >= 1'000'000'000 ? 1e9 : step.mean_ns >= 1'000'000 ? 1e6 : 1e3;
  return text + fmt::format(" ± {:.1f}", static_cast<double>(step.deviation_ns) / unit);
}

}  // namespace

void write_hang(TextPage& page) {
  for (const std::string& sentence : nobody_named_lines(page.report)) {
    for (const std::string& line : wrapped(sentence, kTerminalColumns))
      page.canvas.left(line).end_line();
  }
  if (!page.report.hang) return;
  std::string title = page.report.hang->has_failed ? "! failed   " : "! hangs    ";
  Hue hue = Hue::kBold;
  for (const auto& sentence : hang_lines(*page.report.hang, page.report.hang_seen_ns)) {
    write_beside(page, title, Hue::kRed, sentence, kBeside, hue);
    title.assign(kTitleColumns, ' ');
    hue = Hue::kNone;
  }
}

void write_header(TextPage& page) {
  const Report& report = page.report;
  const std::string counts = counts_text(report);
  page.canvas.left(title_of(report), kTerminalColumns - columns(counts) - 2, Hue::kBold)
      .left("  ")
      .left(counts)
      .end_line();
  page.canvas.left(machine(report), 45).left(" ").right(loaded(report), 34).end_line();
  write_reasons(page);
  write_issues(page);
  page.canvas.end_line();
}

void write_steps(TextPage& page) {
  const Report& report = page.report;
  const RankSummary& first = first_in_means(report);
  const MeanStep step = mean_step(report);
  const bool marked = first.has_marked_steps();
  page.canvas.left(marked ? "STEP  " : "TRACE  ", 0, Hue::kBold)
      .left(with_deviation(step, recorded_steps(report)), 36 - (marked ? 6 : 7))
      .dim_line(marked                    ? "where an average step" + of_ranks(report) + " goes"
                : first.facts.slices == 0 ? "the file holds no slices"
                                          : "no marked steps: the trace counts as one");
  for (size_t i = 0; i < kBreakdownPartCount; ++i) {
    const int64_t part_ns = step.part_ns[i];
    if (part_ns == 0) continue;
    page.canvas.left("  ")
        .left(kBreakdownPartNames[i], 14)
        .right(format_ns(part_ns), 9)
        .right(share_text(part_ns, step.mean_ns), 8)
        .left("  ")
        .bar(share_of(part_ns, step.mean_ns), kBarWidth, hue_of(static_cast<BreakdownPart>(i)))
        .end_line();
  }
  for (const std::string& line : rate_lines(report)) {
    page.canvas.left("  ").dim_line(line);
  }
  page.canvas.end_line();
}

}  // namespace redline::trace
