#include "viewer/models/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "trace/report/report_figures.h"
#include "trace/report/report_words.h"
#include "viewer/models/format.h"
#include "viewer/models/report_tables.h"

namespace redline::viewer {
using trace::BreakdownPart;

SliceClass class_of(BreakdownPart part) {
  switch (part) {
    case BreakdownPart::kKernel:
      return SliceClass::kCompute;
    case BreakdownPart::kCommunication:
      return SliceClass::kCommunication;
    case BreakdownPart::kMemcpy:
    case BreakdownPart::kMemset:
      return SliceClass::kCopy;
    case BreakdownPart::kRuntime:
    case BreakdownPart::kLaunchDelay:
      return SliceClass::kRuntime;
    case BreakdownPart::kDataLoader:
      return SliceClass::kDataLoader;
    case BreakdownPart::kCpu:
      return SliceClass::kOperator;
    case BreakdownPart::kDeviceWait:
    case BreakdownPart::kOther:
      break;
  }
  return SliceClass::kOther;
}

namespace {

constexpr double kSmallestShare = 0.0005;

std::vector<SummaryPart> parts_of(const trace::MeanStep& step) {
  const auto whole = static_cast<double>(std::reduce(step.part_ns.begin(), step.part_ns.end()));
  std::vector<SummaryPart> parts;
  for (size_t p = 0; p < step.part_ns.size() && whole > 0; ++p) {
    const double share = static_cast<double>(step.part_ns[p]) / whole;
    if (share < kSmallestShare) continue;
    parts.push_back({std::string(trace::kBreakdownPartNames[p]),
                     class_of(static_cast<BreakdownPart>(p)), share});
  }
  return parts;
}

std::string gain_text(const std::optional<double>& speedup) {
  if (!speedup || !std::isfinite(*speedup)) return {};
  return trace::gain_number(*speedup) + " ×";
}

std::string evidence_line(const std::string& name, double value) {
  if (name.ends_with("_ns")) {
    return fmt::format("{}: {}", name.substr(0, name.size() - 3),
                       format_duration(static_cast<int64_t>(value)));
  }
  if (name.ends_with("_share")) {
    return fmt::format("{}: {}", name.substr(0, name.size() - 6), format_percent(value));
  }
  return fmt::format("{}: {:g}", name, value);
}

// Evidence that is no slice is a time: idle gaps, and instants such as a peak of memory. A finding
// without any is about all steps; the first one is shown.
SummaryCard card_of(const trace::Finding& finding, const trace::Report& report) {
  SummaryCard card;
  card.headline = typeset(finding.headline);
  card.detail = typeset(finding.detail);
  card.gain = gain_text(finding.estimated_speedup);
  card.trial = trial_of(finding);
  if (!finding.placeholder.empty()) card.trial += ", " + needs_of(finding);
  card.severity = finding.severity;
  card.trace = finding.trace;
  for (const trace::EvidenceEvent& event : finding.events) {
    if (!card.slice) card.slice = event.slice;
  }
  const trace::RankSummary& rank = report.traces[finding.trace];
  if (!finding.events.empty()) {
    card.time = {finding.events.front().begin_ns, finding.events.front().end_ns};
    card.is_idle = !card.slice && card.time.length_ns() > 0;
  } else if (!rank.steps.empty()) {
    card.time = rank.steps.front().window;
  }
  for (const auto& [name, value] : finding.evidence) {
    if (!card.evidence.empty()) card.evidence += '\n';
    card.evidence += evidence_line(name, value);
  }
  return card;
}

std::string straggler_of(const trace::RankComparison& ranks, bool is_marked) {
  if (!ranks.skew_ns)
    return "Which rank takes longest is not known: the traces do not tell own work";
  if (!ranks.straggler) return "No rank takes longer than another";
  const size_t late = *ranks.straggler;
  return fmt::format("Rank {}: {}, {}{} more than the shortest", ranks.times[late].rank,
                     trace::straggler_mark(ranks, late), format_duration(*ranks.skew_ns),
                     is_marked ? " a step" : "");
}

}  // namespace

Summary summarize(const trace::Report& report) {
  Summary summary;
  for (const std::string& note : trace::trace_notes(report)) {
    summary.notes.push_back(typeset(capitalized(note)));
  }
  const int64_t count = trace::recorded_steps(report);
  if (count == 0) return summary;
  const trace::MeanStep step = trace::mean_step(report);
  summary.step = format_duration(step.mean_ns);
  if (count > 1) summary.spread = fmt::format("± {} · ", format_duration(step.deviation_ns));
  const bool is_marked = has_marked_steps(report);
  summary.title = is_marked ? "Average step" : "First to last operator";
  summary.spread += is_marked ? format_plural(count, "step") : "no steps are marked";
  if (report.rank_count > 1) summary.spread += fmt::format(" · {} ranks", report.rank_count);
  if (report.comparison) summary.ranks = straggler_of(*report.comparison, is_marked);
  summary.parts = parts_of(step);
  for (const trace::GpuGauge& gauge : trace::gpu_gauges(report)) {
    if (gauge.share) summary.figures.push_back({gauge.name, format_percent(*gauge.share)});
  }
  for (const trace::Finding& finding : report.findings) {
    summary.cards.push_back(card_of(finding, report));
  }
  if (summary.cards.empty()) summary.without_cards = trace::without_findings(report);
  return summary;
}

}  // namespace redline::viewer
