#include "viewer/models/summary.h"

#include <fmt/format.h>

#include <QRegularExpression>
#include <QString>
#include <algorithm>
#include <cmath>

#include "viewer/models/format.h"

namespace redline::viewer {
namespace {

using trace::StepPart;

constexpr double kSmallestShare = 0.0005;

SliceClass class_of(StepPart part) {
  switch (part) {
    case StepPart::kKernel:
      return SliceClass::kCompute;
    case StepPart::kCommunication:
      return SliceClass::kCommunication;
    case StepPart::kMemcpy:
    case StepPart::kMemset:
      return SliceClass::kCopy;
    case StepPart::kRuntime:
      return SliceClass::kRuntime;
    case StepPart::kDataLoader:
      return SliceClass::kDataLoader;
    case StepPart::kCpu:
      return SliceClass::kOperator;
    case StepPart::kOther:
      break;
  }
  return SliceClass::kOther;
}

std::vector<SummaryPart> parts_of(const trace::Report& report) {
  std::array<double, trace::kStepPartCount> sums{};
  double whole = 0;
  for (const trace::Analysis& analysis : report.traces) {
    for (size_t p = 0; p < sums.size(); ++p) {
      const double ns = static_cast<double>(analysis.breakdown.part_ns[p]);
      sums[p] += ns;
      whole += ns;
    }
  }
  std::vector<SummaryPart> parts;
  for (size_t p = 0; p < sums.size() && whole > 0; ++p) {
    const double share = sums[p] / whole;
    if (share < kSmallestShare) continue;
    parts.push_back(
        {std::string(trace::kStepPartNames[p]), class_of(static_cast<StepPart>(p)), share});
  }
  return parts;
}

/// The mean of a figure over all GPUs that have it.
template <typename Get>
void add_figure(Summary& summary, const trace::Report& report, const char* label, const Get& get) {
  double sum = 0;
  int count = 0;
  for (const trace::Analysis& analysis : report.traces) {
    for (const trace::GpuUse& gpu : analysis.gpus) {
      const std::optional<double> value = get(gpu);
      if (!value) continue;
      sum += *value;
      ++count;
    }
  }
  if (count > 0) summary.figures.push_back({label, format_share(sum / count)});
}

std::string gain_text(const std::optional<double>& speedup) {
  if (!speedup || !std::isfinite(*speedup)) return {};
  return fmt::format("{:.{}f} ×", *speedup, *speedup < 10 ? 2 : 0);
}

// The report writes plain ASCII, for terminals.
std::string typeset(const std::string& words) {
  static const QRegularExpression kMicroseconds(QStringLiteral("(\\d) us\\b"));
  static const QRegularExpression kTimes(QStringLiteral("(\\d) x\\b"));
  return QString::fromStdString(words)
      .replace(kMicroseconds, QStringLiteral("\\1 µs"))
      .replace(kTimes, QStringLiteral("\\1 ×"))
      .toStdString();
}

std::string evidence_line(const std::string& name, double value) {
  if (name.ends_with("_ns")) {
    return fmt::format("{}: {}", name.substr(0, name.size() - 3),
                       format_duration(static_cast<int64_t>(value)));
  }
  if (name.ends_with("_share")) {
    return fmt::format("{}: {}", name.substr(0, name.size() - 6), format_share(value));
  }
  return fmt::format("{}: {:g}", name, value);
}

SummaryCard card_of(const trace::Finding& finding) {
  SummaryCard card{typeset(finding.headline),
                   typeset(finding.detail),
                   gain_text(finding.estimated_speedup),
                   finding.knob,
                   {},
                   finding.severity,
                   0,
                   {}};
  card.trace = finding.trace;
  for (const trace::EvidenceEvent& event : finding.events) {
    if (!card.slice) card.slice = event.slice;
  }
  for (const auto& [name, value] : finding.evidence) {
    if (!card.evidence.empty()) card.evidence += '\n';
    card.evidence += evidence_line(name, value);
  }
  return card;
}

}  // namespace

Summary summarize(const trace::Report& report) {
  Summary summary;
  double mean = 0;
  double deviation = 0;
  int64_t count = 0;
  for (const trace::Analysis& analysis : report.traces) {
    mean += static_cast<double>(analysis.step_times.mean_ns);
    deviation += static_cast<double>(analysis.step_times.deviation_ns);
    count = std::max(count, analysis.step_times.count);
  }
  if (report.traces.empty() || count == 0) return summary;
  const double traces = static_cast<double>(report.traces.size());
  summary.step = format_duration(std::llround(mean / traces));
  if (count > 1) {
    summary.spread = fmt::format("± {} · ", format_duration(std::llround(deviation / traces)));
  }
  summary.spread += fmt::format("{} {}", count, count == 1 ? "step" : "steps");
  if (report.rank_count > 1) summary.spread += fmt::format(" · {} ranks", report.rank_count);
  summary.parts = parts_of(report);
  using trace::GpuUse;
  using Share = std::optional<double>;
  add_figure(summary, report, "GPU busy", [](const GpuUse& g) { return Share(g.utilization); });
  add_figure(summary, report, "SM efficiency", [](const GpuUse& g) { return g.sm_efficiency; });
  add_figure(summary, report, "Occupancy", [](const GpuUse& g) { return g.occupancy; });
  add_figure(summary, report, "Tensor Cores", [](const GpuUse& g) { return g.tensor_core_share; });
  for (const trace::Finding& finding : report.findings) summary.cards.push_back(card_of(finding));
  return summary;
}

}  // namespace redline::viewer
