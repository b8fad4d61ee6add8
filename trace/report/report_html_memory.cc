#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "trace/report/html.h"
#include "trace/report/report_html.h"
#include "trace/report/report_words.h"

namespace redline::trace {
namespace {

constexpr double kWidth = 520, kHeight = 120;

// The curve of allocated memory, with one stair for each piece of the recording.
std::string curve_of(const MemoryPeak& peak, Interval recording) {
  if (peak.timeline.size() < 2 || recording.length_ns() <= 0) return {};
  const auto x_of = [&](const MemoryPoint& point) {
    return kWidth * static_cast<double>(point.time_ns - recording.begin_ns) /
           static_cast<double>(recording.length_ns());
  };
  std::string points;
  for (const MemoryPoint& point : peak.timeline) {
    const double x = x_of(point);
    const double y = kHeight * (1 - static_cast<double>(point.allocated_bytes) /
                                        static_cast<double>(peak.allocated_bytes));
    // Memory stays allocated until the next event.
    points += points.empty() ? fmt::format("M{:.1f} {:.1f}", x, y + 2)
                             : fmt::format("H{:.1f}V{:.1f}", x, y + 2);
  }
  return fmt::format(
      "<svg viewBox=\"0 0 {0} {1}\" role=img aria-label=\"Memory over time\">"
      "<line class=grid x1=0 y1=2 x2={0} y2=2></line>"
      "<line class=grid x1=0 y1={2} x2={0} y2={2}></line>"
      "<path class=area d=\"{3}L{4:.1f} {2}L{5:.1f} {2}Z\"></path>"
      "<path class=curve d=\"{3}\"></path>"
      "<text x=0 y=14>{6}</text><text x=0 y={1}>0</text>"
      "<text x={0} y={1} text-anchor=end>{7}</text></svg>",
      kWidth, kHeight + 18, kHeight + 2, points, x_of(peak.timeline.back()),
      x_of(peak.timeline.front()), format_bytes(peak.allocated_bytes),
      format_ns(recording.length_ns()));
}

std::string holders_of(const MemoryPeak& peak) {
  constexpr size_t kMost = 3;
  std::string text;
  if (peak.earlier_bytes > 0) {
    text = "held at the peak: before the recording " + format_bytes(peak.earlier_bytes);
  }
  for (size_t i = 0; i < std::min(kMost, peak.holders.size()); ++i) {
    const MemoryHolder& holder = peak.holders[i];
    text += fmt::format("{}{} {}", text.empty() ? "held at the peak: " : ", ",
                        holder.name.empty() ? "outside operators" : holder.name,
                        format_bytes(holder.bytes));
  }
  return text.empty() ? "" : "<p class=dim>" + html::escape(text) + "</p>";
}

}  // namespace

std::string memory_html(const Report& report) {
  constexpr size_t kMostCurves = 4, kMostPeaks = 32;
  std::string body;
  size_t curves = 0;
  for (const RankSummary& summary : report.traces) {
    for (const MemoryPeak& peak : summary.memory) {
      if (!peak.is_gpu && !summary.gpus.empty()) continue;
      if (curves >= kMostPeaks) {
        ++curves;
        continue;
      }
      const int64_t reserved_bytes = peak.reserved_bytes.value_or(0);
      body += fmt::format(
          "<p><b>{}{}</b> <span class=dim>peak {} allocated{}</span></p>", peak.device_text(),
          of_rank(report, summary), format_bytes(peak.allocated_bytes),
          reserved_bytes > 0 ? ", " + format_bytes(reserved_bytes) + " reserved" : "");
      if (curves++ < kMostCurves) {
        body += curve_of(peak, {summary.facts.begin_ns, summary.facts.end_ns}) + holders_of(peak);
      }
    }
  }
  if (curves > kMostPeaks) {
    body += fmt::format("<p class=dim>… and {} more</p>", curves - kMostPeaks);
  }
  return body.empty() ? "" : "<section class=card><h2>Memory</h2>" + body + "</section>\n";
}

}  // namespace redline::trace
