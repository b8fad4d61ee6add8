#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/format.h"
#include "trace/report/html.h"
#include "trace/report/run_chart.h"
#include "trace/report/run_report.h"
#include "trace/report/run_words.h"

namespace redline::trace {
namespace {

constexpr double kChartWidth = 1180;
constexpr double kChartHeight = 180;
constexpr double kChartTop = 30;

const char* colour_of_mark(LogMarkKind kind) {
  switch (kind) {
    case LogMarkKind::kEpoch:
      return "annotation";
    case LogMarkKind::kWindow:
      return "kernel";
    case LogMarkKind::kOutOfMemory:
    case LogMarkKind::kException:
      return "dataloader";
    case LogMarkKind::kCompile:
      return "overlap";
    case LogMarkKind::kEvaluation:
      return "operator";
    case LogMarkKind::kCheckpoint:
      return "memcpy";
    case LogMarkKind::kNote:
    case LogMarkKind::kBatches:
    case LogMarkKind::kTraining:
      break;
  }
  return "dim";
}

// Time from left to right, and the rate from 0 at the bottom.
class ChartDrawing {
 public:
  explicit ChartDrawing(const RunChart& chart) : chart_(chart) {}

  [[nodiscard]] std::string svg() const {
    std::string curve;
    for (const RunChartPoint& point : chart_.points) {
      const double y = kChartTop + kChartHeight * (1 - point.rate / std::max(chart_.highest, 1e-9));
      const double at = x(point.time_ns);  // a rate holds until the next
      curve += curve.empty() ? fmt::format("M{:.1f} {:.1f}", at, y)
                             : fmt::format("H{:.1f}V{:.1f}", at, y);
    }
    curve += fmt::format("H{}", kChartWidth);
    return fmt::format(
        "<svg viewBox=\"0 0 {0} {1}\" style=\"max-width:none\" role=img "
        "aria-label=\"Rate over the whole run\">"
        "<line class=grid x1=0 y1={2} x2={0} y2={2}></line>"
        "<line class=grid x1=0 y1={3} x2={0} y2={3}></line>"
        "<path class=area style=\"fill:var(--kernel)\" d=\"{4}V{3}H0Z\"></path>"
        "<path class=curve style=\"stroke:var(--kernel)\" d=\"{4}\"></path>{5}"
        "<text x=0 y=14>{6} {7}</text><text x=0 y={8}>step {9}</text>"
        "<text x={0} y={8} text-anchor=end>step {10}, {11}</text></svg>",
        kChartWidth, kChartTop + kChartHeight + 20, kChartTop, kChartTop + kChartHeight, curve,
        marks(), format_number(chart_.highest), chart_.unit, kChartTop + kChartHeight + 16,
        format_count(chart_.points.front().step), format_count(chart_.steps),
        format_wait(std::chrono::nanoseconds(chart_.end_ns - chart_.begin_ns)));
  }

 private:
  [[nodiscard]] double x(int64_t time_ns) const { return kChartWidth * chart_.share_of(time_ns); }

  [[nodiscard]] std::string marks() const {
    std::string all;
    for (const RunChartMark& mark : chart_.marks) all += mark_svg(mark, x(mark.time_ns));
    return all;
  }

  // A finding: a line with its number. A slow step: a dot at the bottom. An event: a short line at
  // the top.
  [[nodiscard]] static std::string mark_svg(const RunChartMark& mark, double at) {
    const std::string title = html::escape(mark.words);
    switch (mark.kind) {
      case RunChartMark::Kind::kFinding: {
        const bool is_last = at > kChartWidth - 20;
        return fmt::format(
            "<g><title>{6}</title><line x1={0:.1f} y1={1} x2={0:.1f} y2={2} "
            "style=\"stroke:var(--dataloader)\"></line>"
            "<text x={3:.1f} y={4} text-anchor={5}>{7}</text></g>",
            at, kChartTop, kChartTop + kChartHeight, is_last ? at - 4 : at + 4, kChartTop + 12,
            is_last ? "end" : "start", title, mark.number);
      }
      case RunChartMark::Kind::kSlowStep:
        return fmt::format(
            "<circle cx={:.1f} cy={} r=3 style=\"fill:var(--communication)\"><title>{}</title>"
            "</circle>",
            at, kChartTop + kChartHeight - 5, title);
      case RunChartMark::Kind::kEvent:
        break;
    }
    return fmt::format(
        "<line x1={0:.1f} y1={1} x2={0:.1f} y2={2} style=\"stroke:var(--{3});stroke-width:2\">"
        "<title>{4}</title></line>",
        at, kChartTop - 6, kChartTop, colour_of_mark(mark.event), title);
  }

  const RunChart& chart_;
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
  if (out.empty()) out = "<p class=dim>" + capitalized(nothing_found_text(verdict)) + ".</p>";
  return "<h2 class=ruled>What held it back</h2>" + out;
}

std::string hour_html(const RunVerdict& verdict) {
  constexpr std::array<const char*, kLogParts> kColours = {
      "dataloader", "kernel", "kernel",  "kernel", "communication",
      "operator",   "memcpy", "overlap", "python", "dataloader"};
  std::string rows;
  for (const auto& [part, share] : parts_of_hour(verdict)) {
    const char* const colour = part ? kColours[static_cast<size_t>(*part)] : "other";
    rows +=
        fmt::format("<tr><td style=\"width:14em\">{}</td>{}<td class=number>{:.1f} min</td></tr>",
                    log_part_name(part), html::bar_cell(share, colour), 60 * share);
  }
  if (rows.empty()) return "";
  return "<h2 class=ruled>Where an hour of it goes</h2><table><tbody>" + rows + "</tbody></table>";
}

std::string left_out_html(const RunVerdict& verdict) {
  std::string out;
  const auto add = [&](const std::string& line) {
    out += "<p class=dim>" + html::escape(line) + "</p>";
  };
  for (const std::string& lost : lost_lines(verdict)) add(lost);
  for (const std::string& log : verdict.unreadable_logs) add("Left out: " + log);
  for (const std::string& text : left_out_lines(verdict)) add(text);
  return out;
}

}  // namespace

std::string run_html(const RunVerdict& verdict) {
  return fmt::format(
      "<section class=card id=run><div class=head><h2>The whole run <span class=dim>{}</span></h2>"
      "<b>{}</b></div>{}{}{}{}</section>\n",
      html::escape(run_subtitle(verdict)), run_rate_text(verdict), left_out_html(verdict),
      verdict.points.empty() ? "" : ChartDrawing(run_chart(verdict)).svg(),
      run_findings_html(verdict), hour_html(verdict));
}

}  // namespace redline::trace
