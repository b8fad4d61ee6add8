#include "viewer/models/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "trace/report/report_figures.h"
#include "trace/report/report_words.h"
#include "viewer/models/format.h"
#include "viewer/models/lane_pixels.h"
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

namespace {

struct Cover {
  std::vector<double> busy;
  std::vector<double> dataloader;
  std::vector<uint8_t> main_class;

  explicit Cover(size_t width) : busy(width), dataloader(width), main_class(width) {}

  void add(size_t column, double share, uint8_t slice_class) {
    switch (static_cast<SliceClass>(slice_class)) {
      case SliceClass::kDataLoader:
        dataloader[column] = std::max(dataloader[column], share);
        break;
      case SliceClass::kOperator:
      case SliceClass::kCompute:
      case SliceClass::kCommunication:
      case SliceClass::kCopy:
        if (share > busy[column]) {
          busy[column] = share;
          main_class[column] = slice_class;
        }
        break;
      default:
        break;
    }
  }
};

bool has_gpu(const trace::Trace& trace) {
  for (const trace::Lane& lane : trace.lanes()) {
    if (lane.count > 0 && trace.tracks()[lane.track.value].kind == trace::TrackKind::kGpuStream) {
      return true;
    }
  }
  return false;
}

// With a GPU only the DataLoader counts on the host, because the host's operators tell nothing
// about the GPU's time.
bool counts(const trace::Track& track, uint8_t slice_class, bool gpu) {
  if (track.kind == trace::TrackKind::kGpuStream) return true;
  return !gpu || static_cast<SliceClass>(slice_class) == SliceClass::kDataLoader;
}

Cover cover_of(const SessionTrace& item, const TimeAxis& axis) {
  Cover cover(static_cast<size_t>(axis.width));
  LanePixels pixels;
  const bool gpu = has_gpu(*item.trace);
  for (size_t i = 0; i < item.trace->lanes().size(); ++i) {
    const trace::Lane& lane = item.trace->lanes()[i];
    const trace::Track& track = item.trace->tracks()[lane.track.value];
    draw_lane(item.lane_columns(lane), item.pyramids[i], axis, pixels);
    for (size_t c = 0; c < pixels.cover.size(); ++c) {
      if (pixels.cover[c] == 0 || !counts(track, pixels.colour[c], gpu)) continue;
      cover.add(c, pixels.cover[c] / 255.0, pixels.colour[c]);
    }
    for (const SliceBox& box : pixels.boxes) {
      if (!counts(track, box.colour, gpu)) continue;
      for (int c = box.left; c < box.right; ++c) {
        cover.add(static_cast<size_t>(c), 1, box.colour);
      }
    }
  }
  return cover;
}

Cover cover_of(const RankOutline& outline, const TimeAxis& axis) {
  Cover cover(static_cast<size_t>(axis.width));
  for (int c = 0; c < axis.width; ++c) {
    const OverviewColumn* column = outline.column_at(axis.time_at(c + 0.5));
    if (!column) continue;
    const auto at = static_cast<size_t>(c);
    cover.busy[at] = column->busy;
    cover.dataloader[at] = column->dataloader;
    cover.main_class[at] = static_cast<uint8_t>(column->main_class);
  }
  return cover;
}

}  // namespace

std::vector<OverviewColumn> overview_columns(const Session& session, int width) {
  std::vector<OverviewColumn> columns(static_cast<size_t>(std::max(width, 0)));
  if (columns.empty() || session.range().span_ns() <= 0) return columns;
  const TimeAxis axis = TimeAxis{0, 1, width}.showing(session.range());
  std::vector<int> recorded(columns.size());  // how many traces hold that time
  for (const SessionTrace& item : session.traces()) {
    const auto work = item.work();
    if (!work) continue;
    const TimeAxis local = item.local(axis);
    const Cover cover = item.is_loaded ? cover_of(item, local) : cover_of(*item.outline, local);
    for (size_t c = 0; c < columns.size(); ++c) {
      const bool has_work = cover.busy[c] > 0 || cover.dataloader[c] > 0;
      if (has_work || work->contains(local.time_at(static_cast<double>(c) + 0.5))) ++recorded[c];
      if (cover.busy[c] > 0) columns[c].main_class = static_cast<SliceClass>(cover.main_class[c]);
      columns[c].busy += cover.busy[c];
      columns[c].dataloader += cover.dataloader[c];
    }
  }
  for (size_t c = 0; c < columns.size(); ++c) {
    columns[c].busy /= std::max(recorded[c], 1);
    columns[c].dataloader /= std::max(recorded[c], 1);
  }
  return columns;
}

const OverviewColumn* RankOutline::column_at(int64_t time_ns) const {
  if (columns.empty() || work.span_ns() <= 0 || !work.contains(time_ns)) return nullptr;
  const double share =
      static_cast<double>(time_ns - work.begin_ns) / static_cast<double>(work.span_ns());
  const auto at = static_cast<size_t>(share * static_cast<double>(columns.size()));
  return &columns[std::min(at, columns.size() - 1)];
}

std::shared_ptr<const RankOutline> outline_of(const std::shared_ptr<const trace::Trace>& trace) {
  constexpr int kColumns = 512;
  const Session session({trace});
  const SessionTrace& item = session.traces().front();
  RankOutline outline{trace->event_count(),
                      trace->slice_count(),
                      {trace->issues().begin(), trace->issues().end()},
                      {saturating_sum(session.range().begin_ns, item.origin_ns),
                       saturating_sum(session.range().end_ns, item.origin_ns)},
                      overview_columns(session, kColumns)};
  return std::make_shared<const RankOutline>(std::move(outline));
}

}  // namespace redline::viewer
