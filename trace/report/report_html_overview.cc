#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/format.h"
#include "trace/report/html.h"
#include "trace/report/report.h"
#include "trace/report/report_figures.h"
#include "trace/report/report_html.h"
#include "trace/report/report_words.h"

namespace redline::trace {
namespace {

using html::escape;

std::string gauge(const char* label, std::optional<double> value) {
  if (!value) return fmt::format("<div><span class=dim>{}</span><b>–</b></div>", label);
  return fmt::format(
      "<div><span class=dim>{}</span><b>{}</b>"
      "<div class=gauge><div style=\"width:{:.1f}%\"></div></div></div>",
      label, format_percent(*value), 100 * std::clamp(*value, 0.0, 1.0));
}

std::string gauges_html(const Report& report) {
  std::string gauges;
  for (const GpuGauge& each : gpu_gauges(report)) gauges += gauge(each.name, each.share);
  return gauges.empty() ? "" : "<div class=\"gauges ruled\">" + gauges + "</div>";
}

std::string gain_html(const Finding& finding) {
  if (!finding.estimated_speedup) {
    return finding.knob.empty() ? "" : "<div class=gain><small>worth a trial</small></div>";
  }
  return fmt::format("<div class=gain>{} ×<small>at most</small></div>",
                     gain_number(*finding.estimated_speedup));
}

std::string links_html(const Finding& finding, size_t index, bool is_shown) {
  std::string links;
  if (is_shown) {
    links += fmt::format("<button data-evidence={}>show in the timeline</button>", index);
  }
  if (!finding.knob.empty()) {
    const std::string trial = escape(trial_of(finding));
    links += fmt::format("<code>{0}</code><button data-copy=\"{0}\">copy</button>", trial);
    links += "<span class=dim>" + escape(needs_of(finding)) + "</span>";
  }
  return links.empty() ? "" : "<div class=links>" + links + "</div>";
}

}  // namespace

std::string steps_html(const Report& report) {
  const MeanStep step = mean_step(report);
  std::string stack, parts;
  for (size_t i = 0; i < kBreakdownPartCount; ++i) {
    const int64_t part_ns = step.part_ns[i];
    if (part_ns == 0) continue;
    const double width = share_of(part_ns, step.mean_ns);
    stack +=
        fmt::format("<div title=\"{0} {1}\" style=\"width:{2:.3f}%;background:var(--{0})\"></div>",
                    kBreakdownPartNames[i], format_percent(width), 100 * width);
    parts += fmt::format(
        "<div class=part><span class=swatch style=\"background:var(--{0})\"></span><span>{0}</span>"
        "<span class=\"number dim\">{1}</span><span class=number>{2}</span></div>",
        kBreakdownPartNames[i], format_ns(part_ns), format_percent(width));
  }
  std::string rates;
  for (const std::string& line : rate_lines(report)) rates += "<div class=dim>" + line + "</div>";
  const bool marked = first_in_means(report).has_marked_steps();
  return fmt::format(
      "<section class=card><h2>{}</h2><div class=step><b>{}</b><span class=dim>{}</span></div>"
      "<div class=stack>{}</div><div class=parts>{}</div>{}{}</section>\n",
      marked ? "Average step" : "The whole recording", format_ns(step.mean_ns),
      marked ? fmt::format(
                   "{}{}{}",
                   recorded_steps(report) < 2 ? "" : "± " + format_ns(step.deviation_ns) + " · ",
                   format_plural(recorded_steps(report), "step"),
                   report.rank_count > 1 ? " · " + format_plural(report.rank_count, "rank") : "")
             : "no steps are marked",
      stack, parts, rates, gauges_html(report));
}

// The table of forward pass, backward pass and optimizer.
std::string phases_html(const Report& report) {
  const auto phases = mean_phases(report);
  if (!phases) return {};
  const bool on_gpu = first_with_gpus(report.traces) != nullptr;
  int64_t longest_ns = 1;
  for (const PhaseTime& phase : *phases) {
    longest_ns = std::max(longest_ns, on_gpu ? phase.device_ns : phase.host_ns);
  }
  std::string rows;
  for (size_t i = 0; i < kPhaseCount; ++i) {
    const PhaseTime& phase = (*phases)[i];
    rows +=
        fmt::format("<tr><td>{}</td>{}{}{}</tr>", phase_title(*phases, i),
                    html::bar_cell(share_of(on_gpu ? phase.device_ns : phase.host_ns, longest_ns),
                                   on_gpu ? "kernel" : "cpu"),
                    html::time_cell(phase.host_ns), html::time_cell(phase.device_ns));
  }
  const char* title = first_in_means(report).has_marked_steps() ? "Parts of a step" : "Parts";
  return fmt::format("<section class=card><h2>{}</h2>", title) +
         "<table><thead><tr><th></th><th class=drawn>"
         "</th><th class=number>host</th><th class=number>GPU</th></tr></thead><tbody>" +
         rows + "</tbody></table></section>\n";
}

std::string findings_html(const Report& report, const PageTimeline& timeline) {
  std::string out = "<section class=\"card advice\"><h2>What holds it back</h2>";
  if (report.findings.empty()) out += fmt::format("<p class=dim>{}</p>", without_findings(report));
  for (size_t i = 0; i < report.findings.size(); ++i) {
    const Finding& finding = report.findings[i];
    out += fmt::format(
        "<div class=\"finding {}\"><div><h3>{}</h3><p class=dim>{}</p>{}</div>{}</div>\n",
        severity_name(finding.severity), escape(finding.headline), escape(finding.detail),
        links_html(finding, i, timeline.evidence[i].has_value()), gain_html(finding));
  }
  return out + "</section>\n";
}

std::string timeline_html(const PageTimeline& timeline) {
  if (timeline.lanes.empty() || timeline.window.length_ns() <= 0) return {};
  constexpr std::array<std::pair<const char*, const char*>, 7> kLegend = {
      {{"kernel", "kernels"},
       {"communication", "communication"},
       {"overlap", "both"},
       {"memcpy", "copies"},
       {"dataloader", "DataLoader"},
       {"operator", "operators"},
       {"runtime", "CUDA calls"}}};
  std::string legend;
  for (const auto& [colour, label] : kLegend) {
    legend += fmt::format("<span><i class=swatch style=\"background:var(--{})\"></i>{}</span>",
                          colour, label);
  }
  std::string drawn =
      timeline.drawn_count < timeline.slice_count
          ? fmt::format("the longest {} of {} slices", format_count(timeline.drawn_count),
                        format_count(timeline.slice_count))
          : fmt::format("{} slices", format_count(timeline.drawn_count));
  if (timeline.lacks_inner) drawn += ", the outermost of each thread";
  if (timeline.lacks_python) drawn += ", without Python functions";
  return fmt::format(
      "<section class=card><div class=head><h2>Timeline <span class=dim>{}, {} · {}</span></h2>"
      "<button data-fit>all of it</button></div>"
      "<div id=timeline><canvas tabindex=0 role=img aria-label=\"Timeline of {}\"></canvas>"
      "<div id=tip></div></div>"
      "<div class=head style=\"margin:8px 0 0\"><div class=\"legend dim\">{}</div>"
      "<span class=\"dim keys\">drag, Shift + wheel or W A S D · double click fits a slice · F "
      "shows all</span></div></section>\n",
      escape(timeline.title), format_ns(timeline.window.length_ns()), drawn, escape(timeline.title),
      legend);
}

}  // namespace redline::trace
