#include "base/format.h"
#include "trace/report/report_text_page.h"
#include "trace/report/report_words.h"

namespace redline::trace {
namespace {

constexpr size_t kIndent = 5;

std::string gain_text(const Finding& finding) {
  if (!finding.estimated_speedup) return finding.knob.empty() ? "" : "worth a trial";
  return gain_number(*finding.estimated_speedup) + " x faster";
}

Hue hue_of(Severity severity) {
  if (severity == Severity::kHigh) return Hue::kRed;
  return severity == Severity::kMedium ? Hue::kOrange : Hue::kNone;
}

}  // namespace

void write_findings(TextPage& page) {
  TextCanvas& canvas = page.canvas;
  canvas.left("WHAT HOLDS IT BACK", 62, Hue::kBold);
  if (page.report.findings.empty()) {
    canvas.end_line().left("  ").dim_line(without_findings(page.report));
    canvas.end_line();
    return;
  }
  canvas.right("at most, if cured", 18, Hue::kDim).end_line();
  int number = 0;
  for (const Finding& finding : page.report.findings) {
    canvas.right(std::to_string(++number), 3, hue_of(finding.severity))
        .left("  ")
        .left(finding.headline, 57, Hue::kBold)
        .right(gain_text(finding), 18)
        .end_line();
    constexpr size_t kWidth = kTerminalColumns - kIndent;
    for (const std::string& line : wrapped(finding.detail, kWidth)) {
      canvas.left("", kIndent).left(line, kWidth).end_line();
    }
    if (finding.knob.empty()) continue;
    canvas.left("     -> " + trial_of(finding), 0, Hue::kGreen).end_line();
    if (finding.placeholder.empty()) continue;
    canvas.left("        " + needs_of(finding)).end_line();
  }
  canvas.end_line();
}

}  // namespace redline::trace
