#include "viewer/models/steps_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "trace/analysis/step_phases.h"
#include "viewer/models/derived_tracks.h"
#include "viewer/models/format.h"
#include "viewer/models/session_report.h"

namespace redline::viewer {
namespace {

using trace::Analysis;
using trace::DeviceWork;

// A step is called slow if it is this much slower than the median. Steps of a steady job differ by
// some per cent.
constexpr double kSlow = 1.15;

/// For each step the kernel that ran longest of those that began in it; null if none did.
std::vector<const DeviceWork*> longest_kernels(const Analysis& analysis) {
  const std::vector<trace::Step>& steps = analysis.steps;
  std::vector<const DeviceWork*> longest(steps.size());
  for (const DeviceWork& work : analysis.device_work.rows) {
    if (!work.is_kernel()) continue;
    const trace::Step* step = trace::step_at(steps, &trace::Step::window, work.interval.begin_ns);
    if (!step) continue;
    const DeviceWork*& most = longest[static_cast<size_t>(step - steps.data())];
    if (!most || work.interval.length_ns() > most->interval.length_ns()) most = &work;
  }
  return longest;
}

/// What the GPUs of a trace did in a step, as a mean over them.
struct GpuTime {
  int64_t compute_ns = 0;
  int64_t communication_ns = 0;
  int64_t copy_ns = 0;
  int64_t idle_ns = 0;
};

void add(GpuTime& time, const DeviceLane& lane, const Interval& window) {
  const LaneColumns spans = lane.columns();
  int64_t busy_ns = 0;
  const auto first = std::upper_bound(spans.end_ns.begin(), spans.end_ns.end(), window.begin_ns);
  for (auto i = static_cast<size_t>(first - spans.end_ns.begin());
       i < spans.size() && spans.begin_ns[i] < window.end_ns; ++i) {
    const int64_t inside =
        std::min(spans.end_ns[i], window.end_ns) - std::max(spans.begin_ns[i], window.begin_ns);
    const auto what = static_cast<SliceClass>(spans.classes[i]);
    (what == SliceClass::kCommunication ? time.communication_ns
     : what == SliceClass::kCopy        ? time.copy_ns
                                        : time.compute_ns) += inside;
    busy_ns += inside;
  }
  time.idle_ns += window.length_ns() - busy_ns;
}

/// nullopt without a GPU.
std::optional<GpuTime> gpu_time(const DerivedTracks& derived, uint32_t trace,
                                const Interval& window) {
  GpuTime time;
  int64_t gpus = 0;
  for (const DeviceLane& lane : derived.devices) {
    if (lane.trace() != trace) continue;
    add(time, lane, window);
    ++gpus;
  }
  if (gpus == 0) return std::nullopt;
  return GpuTime{time.compute_ns / gpus, time.communication_ns / gpus, time.copy_ns / gpus,
                 time.idle_ns / gpus};
}

/// The note of a slow step, else nothing.
std::string note_of(const Analysis& analysis, const trace::Step& step) {
  const double ratio = static_cast<double>(step.window.length_ns()) /
                       static_cast<double>(std::max<int64_t>(analysis.step_times.median_ns, 1));
  return ratio > kSlow ? fmt::format("slow, +{}", format_percent(ratio - 1)) : std::string();
}

/// Calls visit(analysis, its trace in the session, what its steps' names begin with) for each trace
/// that has marked steps.
template <typename Visit>
void for_each_marked(const Session& session, const trace::Report& report, const Visit& visit) {
  for (const Analysis& analysis : report.analyses) {
    const auto index = trace_of(session, analysis);
    const bool is_marked = !analysis.steps.empty() && analysis.steps.front().number.has_value();
    if (!index || !is_marked) continue;
    const std::string title = report.analyses.size() > 1 ? session.traces()[*index].title : "";
    visit(analysis, *index, title.empty() ? title : title + " · ");
  }
}

std::string name_of(const std::string& prefix, const trace::Step& step) {
  return fmt::format("{}step {}", prefix, step.number.value_or(0));
}

struct StepFigures {
  std::optional<GpuTime> gpu;
  trace::HostPhases host;
  const DeviceWork* longest_kernel = nullptr;  ///< null if there is none
};

TableRow row_of(const Analysis& analysis, size_t index, const StepFigures& figures,
                const std::string& prefix) {
  const trace::Step& step = analysis.steps[index];
  const int64_t length_ns = step.window.length_ns();
  const auto samples = analysis.facts.samples_per_step;
  const DeviceWork* kernel = figures.longest_kernel;
  const auto of_gpu = [&figures](int64_t GpuTime::*time) {
    return figures.gpu ? TableValue((*figures.gpu).*time) : TableValue();
  };
  // Without a backward pass and an optimizer, phases cannot be told apart.
  const auto of_host = [&](trace::Phase phase) {
    return analysis.phases ? TableValue(figures.host.of(phase)) : TableValue();
  };
  const TableValue kernel_name =
      kernel ? TableValue::kernel(std::string(analysis.trace->string(kernel->name))) : TableValue();
  TableRow row;
  row.values = {name_of(prefix, step),
                length_ns,
                note_of(analysis, step),
                index > 0 ? TableValue(step.host.begin_ns - analysis.steps[index - 1].host.end_ns)
                          : TableValue(),
                kernel ? TableValue(kernel->interval.length_ns()) : TableValue(),
                kernel_name,
                figures.host.dataloader_ns,
                of_host(trace::Phase::kForward),
                of_host(trace::Phase::kBackward),
                of_host(trace::Phase::kOptimizer),
                of_gpu(&GpuTime::compute_ns),
                of_gpu(&GpuTime::communication_ns),
                of_gpu(&GpuTime::copy_ns),
                of_gpu(&GpuTime::idle_ns),
                samples && length_ns > 0
                    ? TableValue(*samples * 1e9 / static_cast<double>(length_ns))
                    : TableValue()};
  return row;
}

}  // namespace

Table step_rows(const Session& session, const trace::Report& report, const DerivedTracks& derived) {
  Table table{
      "Steps",
      {{"Step", Unit::kText},
       {"Duration", Unit::kDuration, "From the end of the step before to its last GPU work"},
       {"Note", Unit::kText, "Against the median of the trace's steps"},
       {"Gap before", Unit::kDuration, "On the host, between the marks of two steps"},
       {"Longest kernel", Unit::kDuration},
       {"Its name", Unit::kName},
       {"Data wait", Unit::kDuration, "On the host, in the DataLoader"},
       {"Forward", Unit::kDuration, "On the host, in operators of the forward pass"},
       {"Backward", Unit::kDuration, "On the host, in the backward pass"},
       {"Optimizer", Unit::kDuration, "On the host, in the optimizer"},
       {"Computation", Unit::kDuration, "Of the GPU"},
       {"Comm. alone", Unit::kDuration, "Of the GPU: communication with no kernel beside it"},
       {"Copies", Unit::kDuration, "Of the GPU, with nothing beside them"},
       {"GPU idle", Unit::kDuration},
       {"Samples/s", Unit::kRate}},
      {}};
  for_each_marked(
      session, report, [&](const Analysis& analysis, uint32_t index, const std::string& prefix) {
        const std::vector<const DeviceWork*> kernels = longest_kernels(analysis);
        const auto phases = trace::host_phases(*analysis.trace, analysis.host_tree, analysis.steps);
        for (size_t i = 0; i < analysis.steps.size(); ++i) {
          const Interval& window = analysis.steps[i].window;
          const StepFigures figures{gpu_time(derived, index, window), phases[i], kernels[i]};
          table.rows.push_back(row_of(analysis, i, figures, prefix));
          table.rows.back().time = TimeRef{index, window.begin_ns, window.end_ns};
        }
      });
  drop_columns(table, [&table](size_t column) {
    return is_all_zero(table, column) || !has_values(table, column);
  });
  return table;
}

std::vector<StepBar> step_bars(const Session& session, const trace::Report& report) {
  std::vector<StepBar> bars;
  for_each_marked(session, report,
                  [&](const Analysis& analysis, uint32_t index, const std::string& prefix) {
                    for (size_t i = 0; i < analysis.steps.size(); ++i) {
                      const trace::Step& step = analysis.steps[i];
                      bars.push_back({{index, step.window.begin_ns, step.window.end_ns},
                                      name_of(prefix, step),
                                      note_of(analysis, step),
                                      analysis.breakdown.of_steps[i]});
                    }
                  });
  return bars;
}

std::vector<size_t> bars_to_draw(const std::vector<StepBar>& bars, size_t most) {
  const size_t groups = std::min(bars.size(), std::max<size_t>(most, 1));
  std::vector<size_t> drawn;
  for (size_t g = 0; g < groups; ++g) {
    const auto first = bars.begin() + static_cast<std::ptrdiff_t>(g * bars.size() / groups);
    const auto end = bars.begin() + static_cast<std::ptrdiff_t>((g + 1) * bars.size() / groups);
    const auto longest =
        std::max_element(first, end, [](const StepBar& left, const StepBar& right) {
          return left.length_ns() < right.length_ns();
        });
    drawn.push_back(static_cast<size_t>(longest - bars.begin()));
  }
  return drawn;
}

std::string text_of(const StepBar& bar) {
  std::string words = fmt::format("{}: {}", bar.name, format_duration(bar.length_ns()));
  if (!bar.note.empty()) words += ", " + bar.note;
  for (size_t p = 0; p < bar.parts_ns.size(); ++p) {
    if (bar.parts_ns[p] <= 0) continue;
    words +=
        fmt::format("\n{} {}", trace::kBreakdownPartNames[p], format_duration(bar.parts_ns[p]));
  }
  return words;
}

}  // namespace redline::viewer
