#include <fmt/format.h>

#include "base/format.h"
#include "trace/report/report_text_page.h"

namespace redline::trace {
namespace {

constexpr size_t kIndent = 5;

// Lines of at most `width` columns, broken between words.
void write_wrapped(TextCanvas& canvas, std::string_view text, size_t width) {
  std::string line;
  const auto flush = [&] {
    if (!line.empty()) canvas.left(std::string(kIndent, ' ')).left(elide(line, width)).end_line();
    line.clear();
  };
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (!line.empty() && columns(line) + 1 + columns(word) > width) flush();
    if (!line.empty()) line += ' ';
    line += word;
  }
  flush();
}

std::string gain_text(const Finding& finding) {
  if (!finding.estimated_speedup) return finding.knob.empty() ? "" : "worth a trial";
  return *finding.estimated_speedup >= 100
             ? fmt::format("{:.0f} x faster", *finding.estimated_speedup)
             : fmt::format("{:.2f} x faster", *finding.estimated_speedup);
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
    canvas.end_line().left("  nothing that the rules know of", 0, Hue::kDim).end_line().end_line();
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
    write_wrapped(canvas, finding.detail, 75);
    if (finding.knob.empty()) continue;
    canvas.left("     -> autotune --knob " + finding.knob, 0, Hue::kGreen).end_line();
  }
  canvas.end_line();
}

}  // namespace redline::trace
