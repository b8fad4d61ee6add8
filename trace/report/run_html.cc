#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/format.h"
#include "trace/report/html.h"
#include "trace/report/run_report.h"
#include "trace/report/run_words.h"

namespace redline::trace {
namespace {

constexpr double kChartWidth = 1180;
constexpr double kChartHeight = 180;
constexpr double kChartTop = 20;

// The chart's axes: time from left to right, and a rate from 0 at the bottom.
class RunChart {
 public:
  explicit RunChart(const RunVerdict& verdict) : verdict_(verdict) {
    by_samples_ = verdict.samples_per_s.has_value();
    begin_ns_ = verdict.points.front().time_ns;
    length_ns_ = std::max<int64_t>(1, verdict.end_ns - begin_ns_);
    for (const RunPoint& point : verdict.points) most_ = std::max(most_, rate(point));
  }

  [[nodiscard]] std::string svg() const {
    std::string curve;
    for (const RunPoint& point : verdict_.points) {
      curve += fmt::format("{}{:.1f} {:.1f}", curve.empty() ? "M" : "L", x(point.time_ns),
                           y(rate(point)));
    }
    curve += fmt::format("H{}", kChartWidth);
    const std::string unit = by_samples_ ? "samples/s" : "steps/s";
    return fmt::format(
        "<svg viewBox=\"0 0 {0} {1}\" style=\"max-width:none\" role=img "
        "aria-label=\"Rate over the whole run\">"
        "<line class=grid x1=0 y1={2} x2={0} y2={2}></line>"
        "<line class=grid x1=0 y1={3} x2={0} y2={3}></line>{4}"
        "<path class=area style=\"fill:var(--kernel)\" d=\"{5}V{3}H0Z\"></path>"
        "<path class=curve style=\"stroke:var(--kernel)\" d=\"{5}\"></path>{6}"
        "<text x=0 y=14>{7} {8}</text><text x=0 y={9}>{10}</text>"
        "<text x={0} y={9} text-anchor=end>{11}</text></svg>",
        kChartWidth, kChartTop + kChartHeight + 20, kChartTop, kChartTop + kChartHeight,
        finding_marks(), curve, slow_marks() + epoch_marks(), format_number(most_), unit,
        kChartTop + kChartHeight + 16, "step 0",
        fmt::format("step {}, {}", format_count(verdict_.steps),
                    format_wait(std::chrono::nanoseconds(length_ns_))));
  }

 private:
  [[nodiscard]] double rate(const RunPoint& point) const {
    return by_samples_ ? point.samples_per_s.value_or(0) : point.steps_per_s;
  }
  [[nodiscard]] double x(int64_t time_ns) const {
    return kChartWidth *
           std::clamp(static_cast<double>(time_ns - begin_ns_) / static_cast<double>(length_ns_),
                      0.0, 1.0);
  }
  [[nodiscard]] double y(double rate) const {
    return kChartTop + kChartHeight * (1 - (most_ > 0 ? rate / most_ : 0));
  }
  [[nodiscard]] int64_t time_of(int64_t step) const {
    const auto after = std::find_if(verdict_.points.begin(), verdict_.points.end(),
                                    [step](const RunPoint& point) { return point.step >= step; });
    return after == verdict_.points.end() ? verdict_.end_ns : after->time_ns;
  }

  // A line with the finding's number at the step from which each finding holds.
  [[nodiscard]] std::string finding_marks() const {
    std::string marks;
    for (size_t i = 0; i < verdict_.findings.size(); ++i) {
      const RunFinding& finding = verdict_.findings[i];
      if (finding.from_step == 0) continue;
      const double at = x(time_of(finding.from_step));
      marks += fmt::format(
          "<line x1={0:.1f} y1={1} x2={0:.1f} y2={2} style=\"stroke:var(--dataloader)\"></line>"
          "<text x={3:.1f} y={4} text-anchor={5}>{6}</text>",
          at, kChartTop, kChartTop + kChartHeight, at > kChartWidth - 20 ? at - 4 : at + 4,
          kChartTop + 12, at > kChartWidth - 20 ? "end" : "start", i + 1);
    }
    return marks;
  }

  [[nodiscard]] std::string slow_marks() const {
    std::string marks;
    for (const SlowStep& slow : verdict_.slow) {
      marks += fmt::format(
          "<circle cx={:.1f} cy={} r=3 style=\"fill:var(--communication)\"><title>step {}: {}{}"
          "</title></circle>",
          x(slow.begin_ns), kChartTop + kChartHeight - 5, format_count(slow.step),
          format_ns(slow.length_ns),
          slow.part ? ", " + std::string(log_part_name(*slow.part)) : "");
    }
    return marks;
  }

  // Short lines at the top: epochs, checkpoints, windows that were recorded, errors.
  [[nodiscard]] std::string epoch_marks() const {
    constexpr std::array<std::pair<const char*, const char*>, 8> kKinds = {
        {{"epoch", "annotation"},
         {"window recorded", "kernel"},
         {"out of memory", "dataloader"},
         {"compiling", "overlap"},
         {"evaluation", "operator"},
         {"checkpoint", "memcpy"},
         {"exception", "dataloader"},
         {"note", "dim"}}};
    constexpr size_t kMostMarks = 500;
    std::string marks;
    for (size_t i = 0; i < std::min(kMostMarks, verdict_.marks.size()); ++i) {
      const LogMark& mark = verdict_.marks[i];
      const auto& [name, colour] = kKinds[static_cast<size_t>(mark.kind)];
      marks += fmt::format(
          "<line x1={0:.1f} y1={1} x2={0:.1f} y2={2} style=\"stroke:var(--{3});stroke-width:2\">"
          "<title>{4} {5}</title></line>",
          x(mark.time_ns), kChartTop - 6, kChartTop, colour, name, html::escape(mark.text));
    }
    return marks;
  }

  const RunVerdict& verdict_;
  bool by_samples_ = false;
  int64_t begin_ns_ = 0;
  int64_t length_ns_ = 1;
  double most_ = 0;
};

std::string run_findings_html(const RunVerdict& verdict) {
  std::string out;
  for (size_t i = 0; i < verdict.findings.size(); ++i) {
    const RunFinding& finding = verdict.findings[i];
    const char* weight = finding.lost_share >= 0.2    ? "high"
                         : finding.lost_share >= 0.05 ? "medium"
                                                      : "low";
    if (finding.cause == RunCause::kDied || finding.cause == RunCause::kFailed) weight = "high";
    const auto known = cost_of(finding);
    const std::string cost = known ? fmt::format("<div class=gain>{}<small>{}</small></div>",
                                                 known->time, known->how_often)
                                   : "";
    out += fmt::format(
        "<div class=\"finding {}\"><div><h3>{} · {}</h3><p class=dim>{}</p></div>{}</div>\n",
        weight, i + 1, html::escape(headline_of(finding)), html::escape(detail_of(finding)), cost);
  }
  return out.empty() ? "<p class=dim>The step log shows nothing that held it back.</p>" : out;
}

std::string hour_html(const RunVerdict& verdict) {
  constexpr std::array<const char*, kLogParts> kColours = {
      "dataloader", "kernel", "kernel",  "kernel", "communication",
      "operator",   "memcpy", "overlap", "python"};
  std::string rows;
  const auto add = [&](std::string_view name, double share, const char* colour) {
    rows += fmt::format("<tr><td>{}</td>{}<td class=number>{:.1f} min</td></tr>", name,
                        html::bar_cell(share, colour), 60 * share);
  };
  for (size_t part = 0; part < kLogParts; ++part) {
    if (!verdict.part_share[part]) continue;
    add(log_part_name(static_cast<LogPart>(part)), *verdict.part_share[part], kColours[part]);
  }
  add("outside of these parts", verdict.other_share, "other");
  return "<h2 class=ruled>Where an hour of it goes</h2><table><tbody>" + rows + "</tbody></table>";
}

std::string left_out_html(const RunVerdict& verdict) {
  std::string out;
  for (const std::string& log : verdict.unreadable_logs) {
    out += "<p class=dim>Left out: " + html::escape(log) + "</p>";
  }
  return out;
}

}  // namespace

std::string run_html(const RunVerdict& verdict) {
  return fmt::format(
      "<section class=card id=run><div class=head><h2>The whole run <span class=dim>{}</span></h2>"
      "<b>{}</b></div>{}{}{}{}</section>\n",
      html::escape(run_subtitle(verdict)), run_rate_text(verdict), left_out_html(verdict),
      verdict.points.empty() ? "" : RunChart(verdict).svg(), run_findings_html(verdict),
      hour_html(verdict));
}

}  // namespace redline::trace
