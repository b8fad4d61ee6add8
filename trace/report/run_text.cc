#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "base/format.h"
#include "base/statistics.h"
#include "trace/report/run_report.h"
#include "trace/report/run_words.h"

namespace redline::trace {
namespace {

constexpr size_t kRunIndent = 5;
constexpr size_t kFindingsOfSummary = 3;

Hue hue_of_part(std::optional<LogPart> part) {
  constexpr std::array<Hue, kLogParts> kHues = {
      Hue::kRed,    Hue::kBlue,   Hue::kBlue,   Hue::kBlue,   Hue::kOrange,
      Hue::kViolet, Hue::kViolet, Hue::kViolet, Hue::kYellow, Hue::kRed};
  return part ? kHues[static_cast<size_t>(*part)] : Hue::kDim;
}

class RunPage {
 public:
  RunPage(const RunVerdict& verdict, const TextStyle& style, const TextScope& scope)
      : verdict_(verdict), style_(style), scope_(scope), canvas_(style) {}

  std::string write_summary() {
    write_head();
    write_findings(kFindingsOfSummary);
    return canvas_.take();
  }

  std::string write() {
    write_head();
    write_findings(verdict_.findings.size());
    canvas_.end_line();
    write_hour();
    write_slow();
    write_ranks();
    return canvas_.take();
  }

 private:
  void line(const std::string& text, Hue hue = Hue::kNone) {
    for (const std::string& words : wrapped(text, kTerminalColumns - 2)) {
      canvas_.left("  ").left(words, kTerminalColumns - 2, hue).end_line();
    }
  }

  void write_head() {
    canvas_.left("RUN  ", 0, Hue::kBold).left(run_subtitle(verdict_), 0, Hue::kBold).end_line();
    line(run_rate_text(verdict_));
    line(usual_rates_text(verdict_), Hue::kDim);
    if (style_.utf8) write_curve();
    for (const std::string& lost : lost_lines(verdict_)) line(lost, Hue::kYellow);
    if (!verdict_.unreadable_logs.empty()) {
      line(unreadable_logs_text(verdict_.unreadable_logs), Hue::kYellow);
    }
    for (const std::string& text : left_out_lines(verdict_)) line(text, Hue::kDim);
    canvas_.end_line();
  }

  // The rate over the steps, from nothing to the fastest.
  void write_curve() {
    constexpr size_t kColumns = 60;
    const auto& points = verdict_.points;
    if (points.size() < 8) return;
    double most = 0;
    for (const RunPoint& point : points) most = std::max(most, point.steps_per_s);
    const size_t width = std::min(kColumns, points.size());
    std::string curve;
    for (size_t i = 0; i < width; ++i) {
      const size_t from = points.size() * i / width, to = points.size() * (i + 1) / width;
      double sum = 0;
      for (size_t at = from; at < to; ++at) sum += points[at].steps_per_s;
      const double height = sum / static_cast<double>(to - from) / most * 7.999;
      curve += kColumnHeights[static_cast<size_t>(std::clamp(height, 0.0, 7.0))];
    }
    canvas_.left("  ").left(curve, kColumns, Hue::kBlue).dim_line("  steps/s");
  }

  void write_findings(size_t most) {
    canvas_.left("WHAT HELD IT BACK", 58, Hue::kBold);
    if (verdict_.findings.empty()) {
      canvas_.end_line();
      return line(nothing_found_text(verdict_), Hue::kDim);
    }
    canvas_.right("at most", 22, Hue::kDim).end_line();
    for (size_t i = 0; i < std::min(most, verdict_.findings.size()); ++i) {
      const RunFinding& finding = verdict_.findings[i];
      const auto known = cost_of(finding);
      const std::string cost = known ? known->time + " " + known->how_often : "";
      const size_t width = kTerminalColumns - kRunIndent - (cost.empty() ? 0 : columns(cost) + 2);
      bool is_first = true;
      for (const std::string& text : wrapped(headline_of(finding), width)) {
        canvas_.right(is_first ? std::to_string(i + 1) : "", 3, Hue::kRed)
            .left("  ")
            .left(text, width, Hue::kBold);
        if (is_first && !cost.empty()) canvas_.left("  ").left(cost);
        canvas_.end_line();
        is_first = false;
      }
      for (const std::string& text : wrapped(detail_of(finding), kTerminalColumns - kRunIndent)) {
        canvas_.left("", kRunIndent).left(text, kTerminalColumns - kRunIndent).end_line();
      }
    }
  }

  void write_hour() {
    const std::vector<PartOfHour> parts = parts_of_hour(verdict_);
    if (parts.empty()) return;
    canvas_.left("WHERE AN HOUR OF IT GOES", 0, Hue::kBold)
        .dim_line(verdict_.ranks.size() > 1 ? "  mean of the ranks" : "");
    for (const auto& [part, share] : parts) {
      canvas_.left("  ")
          .left(log_part_name(part), 26)
          .right(fmt::format("{:.1f} min", 60 * share), 9)
          .left("  ")
          .bar(share, 40, hue_of_part(part))
          .end_line();
    }
    canvas_.end_line();
  }

  void write_slow() {
    if (verdict_.slow.empty()) return;
    const size_t count = std::min(scope_.top, verdict_.slow.size());
    canvas_.left(fmt::format("SLOWEST STEPS ({})", count), 20, Hue::kBold)
        .right("took", 10, Hue::kDim)
        .right("longer by", 12, Hue::kDim)
        .dim_line("  in");
    for (size_t i = 0; i < count; ++i) {
      const SlowStep& slow = verdict_.slow[i];
      const std::string_view part = slow_part_name(slow);
      const std::string rank = verdict_.ranks.size() > 1 ? fmt::format(", rank {}", slow.rank) : "";
      canvas_.left("  ")
          .left("step " + format_count(slow.step), 18)
          .right(format_ns(slow.length_ns), 10)
          .right(format_ns(slow.excess_ns), 12)
          .left("  ")
          .left(part.empty() ? "no part that is seen" : std::string(part) + rank,
                kTerminalColumns - 44)
          .end_line();
    }
    canvas_.end_line();
  }

  void write_ranks() {
    const auto& ranks = verdict_.ranks;
    if (ranks.size() < 2) return;
    std::vector<size_t> order(ranks.size());
    std::iota(order.begin(), order.end(), size_t{0});
    const auto own = [&](size_t i) { return ranks[i].own_ns.value_or(ranks[i].step_ns); };
    if (ranks.size() > scope_.top) {  // then those that the others wait for
      order = largest_first(ranks.size(), own);
      order.resize(scope_.top);
    }
    const bool have_same_steps =
        std::ranges::all_of(ranks, [&](const RankRow& row) { return row.steps == ranks[0].steps; });
    const size_t name_width = have_same_steps ? 26 : 21, steps_width = have_same_steps ? 0 : 11;
    canvas_
        .left(fmt::format("RANKS ({} of {})", order.size(), ranks.size()), name_width, Hue::kBold)
        .right(have_same_steps ? "" : "steps", steps_width, Hue::kDim)
        .right("step", 11, Hue::kDim)
        .right("own work", 12, Hue::kDim)
        .right("data wait", 12, Hue::kDim)
        .right("memory", 12, Hue::kDim)
        .end_line();
    for (const size_t i : order) {
      const RankRow& row = ranks[i];
      canvas_.left("  ")
          .left(fmt::format("rank {}  {}", row.rank, row.host), name_width - 2)
          .right(have_same_steps ? "" : format_count(row.steps), steps_width)
          .right(format_ns(row.step_ns), 11)
          .right(row.own_ns ? format_ns(*row.own_ns) : "-", 12)
          .right(row.wait_share ? format_percent(*row.wait_share) : "-", 12)
          .right(row.memory_bytes ? format_bytes(*row.memory_bytes) : "-", 12)
          .end_line();
    }
    canvas_.end_line();
  }

  const RunVerdict& verdict_;
  const TextStyle& style_;
  const TextScope& scope_;
  TextCanvas canvas_;
};

}  // namespace

std::string run_text(const RunVerdict& verdict, const TextStyle& style, const TextScope& scope) {
  return RunPage(verdict, style, scope).write();
}

std::string run_summary(const RunVerdict& verdict, const TextStyle& style) {
  return RunPage(verdict, style, {}).write_summary();
}

}  // namespace redline::trace
