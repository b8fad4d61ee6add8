#include <fmt/format.h>

#include <algorithm>

#include "trace/format.h"
#include "trace/report.h"

namespace redline::trace {
namespace {

constexpr size_t kTopRows = 50;

// The colours are the viewer's (viewer/widgets/theme.cc).
constexpr const char* kStyle = R"(
:root{--kernel:#4f8fd9;--communication:#e8914a;--memcpy:#3fa66a;--memset:#3fa66a;--runtime:#c9d3de;
--dataloader:#d65a52;--cpu:#a79bc4;--other:#e6e9ed;--ink:#22252b;--dim:#6b7079;--line:#e3e5ea;
--page:#fff}
@media (prefers-color-scheme:dark){:root{--ink:#e4e6eb;--dim:#9aa0ab;--line:#33373f;--page:#1b1d21;
--other:#4a4e57}}
body{font:14px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--page);max-width:980px;
margin:32px auto;padding:0 20px}
h1{font-size:20px;margin:0}h2{font-size:15px;margin:36px 0 8px}p{margin:4px 0}
.dim{color:var(--dim)}.number{text-align:right;white-space:nowrap;
font-variant-numeric:tabular-nums}
table{border-collapse:collapse;width:100%}th{font-weight:500;color:var(--dim);text-align:left}
th,td{padding:4px 8px;border-bottom:1px solid var(--line);vertical-align:top}
td.name{word-break:break-word;max-width:520px}
.stack{display:flex;height:26px;border-radius:3px;overflow:hidden;margin:8px 0}
.bar{height:12px;border-radius:2px;min-width:1px}
.finding{border-left:4px solid var(--line);padding:4px 12px;margin:10px 0}
.high{border-color:var(--dataloader)}.medium{border-color:var(--communication)}
.low{border-color:var(--memcpy)}
code{background:var(--line);padding:1px 5px;border-radius:3px}
)";

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<uint8_t>(c) < ' ' ? '?' : c;
    }
  }
  return out;
}

double share(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string cell(std::string_view text) {
  return fmt::format("<td class=number>{}</td>", escape(text));
}

std::string name_cell(std::string_view text) {
  return fmt::format("<td class=name>{}</td>", escape(text));
}

std::string title(const std::string& text) { return fmt::format("<h2>{}</h2>\n", escape(text)); }

std::string optional_percent(const std::optional<double>& value) {
  return value ? format_percent(*value) : "–";
}

// A table of at most kTopRows rows, empty text for an empty table.
template <typename Rows, typename Line>
std::string table(const std::string& heading, const Rows& rows,
                  const std::vector<std::string>& columns, Line line) {
  if (rows.empty()) return {};
  std::string out = title(heading) + "<table><tr>";
  for (size_t i = 0; i < columns.size(); ++i) {
    out += fmt::format("<th{}>{}</th>", i == 0 ? "" : " class=number", escape(columns[i]));
  }
  out += "</tr>\n";
  size_t shown = 0;
  for (const auto& row : rows) {
    if (shown++ == kTopRows) break;
    out += "<tr>" + line(row) + "</tr>\n";
  }
  out += "</table>\n";
  if (rows.size() > kTopRows) {
    out += fmt::format("<p class=dim>{} more in --format json</p>\n", rows.size() - kTopRows);
  }
  return out;
}

std::string steps_html(const Analysis& analysis) {
  const int64_t step_ns = analysis.step_times.mean_ns;
  std::string stack, rows;
  for (size_t i = 0; i < kStepPartCount; ++i) {
    const int64_t part_ns = analysis.breakdown.part_ns[i];
    if (part_ns == 0) continue;
    const std::string name(kStepPartNames[i]);
    const double width = 100 * share(part_ns, step_ns);
    stack += fmt::format("<div title=\"{0}\" style=\"width:{1:.3f}%;background:var(--{0})\"></div>",
                         name, width);
    rows += fmt::format(
        "<tr><td>{0}</td>{1}{2}<td style=\"width:50%\"><div class=bar "
        "style=\"width:{3:.2f}%;background:var(--{0})\"></div></td></tr>\n",
        name, cell(format_ns(part_ns)), cell(format_percent(share(part_ns, step_ns))), width);
  }
  const bool marked = !analysis.steps.empty() && analysis.steps.front().number.has_value();
  return title(marked
                   ? fmt::format("An average step: {} ± {}", format_ns(step_ns),
                                 format_ns(analysis.step_times.deviation_ns))
                   : fmt::format("No steps are marked; the whole trace: {}", format_ns(step_ns))) +
         "<div class=stack>" + stack + "</div>\n<table>" + rows + "</table>\n";
}

std::string findings_html(const Report& report) {
  std::string out = title("What holds it back");
  if (report.findings.empty()) out += "<p class=dim>Nothing that the rules know.</p>\n";
  for (const Finding& finding : report.findings) {
    const std::string gain = finding.estimated_speedup
                                 ? fmt::format(" <span class=dim>at most {:.2f} x faster</span>",
                                               *finding.estimated_speedup)
                                 : "";
    const std::string knob =
        finding.knob.empty()
            ? ""
            : fmt::format("<p><code>autotune --knob {}</code></p>", escape(finding.knob));
    out += fmt::format("<div class=\"finding {}\"><b>{}</b>{}<p>{}</p>{}</div>\n",
                       severity_name(finding.severity), escape(finding.headline), gain,
                       escape(finding.detail), knob);
  }
  return out;
}

std::string ranks_html(const Report& report) {
  if (!report.comparison) return {};
  return table("Ranks", report.comparison->times,
               {"rank", "step", "own work", "waiting in collectives"}, [&](const RankTime& time) {
                 const bool late = report.comparison->straggler == time.rank;
                 return name_cell(fmt::format("rank {}{}", time.rank,
                                              late ? " (the others wait for it)" : "")) +
                        cell(format_ns(time.step_ns)) + cell(format_ns(time.own_work_ns)) +
                        cell(format_ns(time.exposed_communication_ns));
               });
}

std::string tables_html(const Analysis& analysis) {
  int64_t kernels_ns = 0, self_ns = 0;
  for (const KernelRow& row : analysis.kernels) kernels_ns += row.total_ns;
  for (const OperatorRow& row : analysis.operators) self_ns += row.self_ns;
  std::string out = table(
      "GPUs", analysis.gpus,
      {"GPU", "busy", "SM efficiency", "occupancy", "Tensor Cores", "compute", "idle"},
      [](const GpuUse& gpu) {
        return name_cell(fmt::format("{} {}", gpu.device, gpu.name)) +
               cell(format_percent(gpu.utilization)) + cell(optional_percent(gpu.sm_efficiency)) +
               cell(optional_percent(gpu.occupancy)) +
               cell(optional_percent(gpu.tensor_core_share)) + cell(format_ns(gpu.compute_ns)) +
               cell(format_ns(gpu.idle_ns));
      });
  out += table("Kernels", analysis.kernels, {"kernel", "calls", "total", "mean", "share"},
               [&](const KernelRow& row) {
                 return name_cell(row.name) + cell(format_count(row.count)) +
                        cell(format_ns(row.total_ns)) + cell(format_ns(row.mean_ns())) +
                        cell(format_percent(share(row.total_ns, kernels_ns)));
               });
  out += table("Operators, by own host time", analysis.operators,
               {"operator", "calls", "total", "own host time", "own GPU time", "share"},
               [&](const OperatorRow& row) {
                 return name_cell(row.name) + cell(format_count(row.count)) +
                        cell(format_ns(row.total_ns)) + cell(format_ns(row.self_ns)) +
                        cell(row.device_self_ns == 0 ? "–" : format_ns(row.device_self_ns)) +
                        cell(format_percent(share(row.self_ns, self_ns)));
               });
  out += table("Collectives", analysis.communication.table,
               {"collective", "calls", "total", "exposed", "bytes"}, [](const Collective& row) {
                 return name_cell(row.name) + cell(format_count(row.count)) +
                        cell(format_ns(row.total_ns)) + cell(format_ns(row.exposed_ns)) +
                        cell(row.bytes ? format_bytes(*row.bytes) : "–");
               });
  out += table("Copies", analysis.copies, {"copy", "calls", "total", "bytes", "rate"},
               [](const CopyRow& row) {
                 const auto bandwidth = row.bandwidth();
                 return name_cell(row.kind) + cell(format_count(row.count)) +
                        cell(format_ns(row.total_ns)) + cell(format_bytes(row.bytes)) +
                        cell(bandwidth ? format_bandwidth(*bandwidth) : "–");
               });
  out += table("Memory peaks", analysis.memory, {"device", "allocated", "reserved"},
               [](const MemoryPeak& peak) {
                 return name_cell(peak.is_gpu ? fmt::format("GPU {}", peak.device) : "host") +
                        cell(format_bytes(peak.allocated_bytes)) +
                        cell(format_bytes(peak.reserved_bytes));
               });
  return out;
}

std::string files_html(const Report& report) {
  return table("Files", report.traces, {"file", "rank", "events", "skipped", "dropped"},
               [](const Analysis& analysis) {
                 const Trace& trace = *analysis.trace;
                 uint64_t skipped = 0;
                 for (const LoadIssue& issue : trace.issues()) {
                   if (issue.lost_data) skipped += issue.count;
                 }
                 const auto rank = trace.metadata().rank;
                 return name_cell(trace.path()) + cell(rank ? std::to_string(*rank) : "–") +
                        cell(format_count(static_cast<int64_t>(trace.event_count()))) +
                        cell(format_count(static_cast<int64_t>(skipped))) +
                        cell(format_count(dropped_events(trace)));
               });
}

}  // namespace

std::string report_html(const Report& report) {
  const Analysis& first = report.traces.front();
  const std::string subtitle = fmt::format(
      "{} ranks · {} steps · {} events in the first", report.rank_count, first.step_times.count,
      format_count(static_cast<int64_t>(first.trace->event_count())));
  return fmt::format(
             "<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8>"
             "<meta name=viewport content=\"width=device-width\"><title>Redline report</title>"
             "<style>{}</style></head><body>\n<h1>Redline report</h1><p class=dim>{}</p>\n",
             kStyle, subtitle) +
         findings_html(report) + steps_html(first) + ranks_html(report) + tables_html(first) +
         files_html(report) + "</body></html>\n";
}

}  // namespace redline::trace
