#include "trace/report/report_figures.h"
#include "trace/report/report_html.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "trace/model/slice_view.h"
#include "trace/report/report_words.h"

namespace redline::trace {
namespace {

constexpr size_t kMostDepths = 8;    // of a thread
constexpr size_t kMostSpans = 3000;  // of a rank's lane

bool overlaps(Interval left, Interval right) {
  return left.begin_ns < right.end_ns && left.end_ns > right.begin_ns;
}

// Also true for an event without length inside the window.
bool touches(const EvidenceEvent& event, Interval window) {
  return event.begin_ns < window.end_ns && event.end_ns >= window.begin_ns;
}

// The first of the steps in which most findings have events; null without steps.
const Step* choose_step(const Report& report, size_t trace) {
  const std::vector<Step>& steps = report.traces[trace].steps;
  if (steps.empty()) return nullptr;
  const auto shown_in = [&](const Step& step) {
    return std::ranges::count_if(report.findings, [&](const Finding& finding) {
      return finding.trace == trace &&
             std::ranges::any_of(finding.events, [&](const EvidenceEvent& event) {
               return touches(event, step.window);
             });
    });
  };
  return &*std::ranges::max_element(steps, {}, shown_in);
}

// An event of the finding inside the window, or else the longest slice of the same name there.
std::optional<EvidenceEvent> evidence_within(const Trace& trace, const Finding& finding,
                                             Interval window) {
  for (const EvidenceEvent& event : finding.events) {
    if (touches(event, window)) return event;
  }
  if (finding.events.empty() || !finding.events.front().slice) return std::nullopt;
  const StringId name = trace.slices().name[finding.events.front().slice.value];
  std::optional<SliceId> longest;
  for_each_slice(trace, [&](SliceId slice, Category) {
    if (trace.slices().name[slice.value] != name) return;
    const Interval interval = interval_of(trace, slice);
    if (!overlaps(interval, window)) return;
    if (!longest || interval.length_ns() > duration_ns(trace, *longest)) longest = slice;
  });
  if (!longest) return std::nullopt;
  const Interval interval = interval_of(trace, *longest);
  return EvidenceEvent{*longest, interval.begin_ns, interval.end_ns, finding.events.front().name};
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

bool is_drawn(const Trace& trace, const Track& track) {
  if (track.lane_count == 0) return false;
  if (track.kind == TrackKind::kGpuStream) return true;
  if (track.kind != TrackKind::kCpuThread) return false;
  const Lane& lane = trace.lanes()[track.first_lane.value];
  const Category category = trace.slices().category[lane.first.value];
  return category != Category::kSpan && category != Category::kOverhead;
}

std::string title_of(const Trace& trace, const Track& track) {
  if (track.kind == TrackKind::kGpuStream) return fmt::format("stream {}", track.stream);
  return fmt::format("thread {}", trace.string(track.tid));
}

std::string note_of(const Trace& trace, const Track& track) {
  if (track.kind == TrackKind::kGpuStream) {
    // In a file of several ranks the number may not be the GPU's.
    const std::string_view label = trimmed(trace.string(track.process_label));
    return label.empty() ? fmt::format("GPU {}", track.device) : std::string(label);
  }
  return std::string(trimmed(trace.string(track.process_name)));
}

std::vector<DrawnSlice> slices_within(const Trace& trace, const Track& track,
                                      PageTimeline& timeline) {
  const auto& begins = trace.slices().begin_ns;
  const auto& ends = trace.slices().end_ns;
  std::vector<DrawnSlice> slices;
  for (const Lane& lane : lanes_of(trace, track)) {
    for (uint32_t i = lane.first.value; i < lane.end(); ++i) {
      if (begins[i] >= timeline.window.end_ns) break;
      if (ends[i] <= timeline.window.begin_ns) continue;
      if (!timeline.draws_python && trace.slices().category[i] == Category::kPythonFunction) {
        timeline.lacks_python = true;
      } else {
        slices.push_back({SliceId{i}, {begins[i], ends[i]}});
      }
    }
  }
  return slices;
}

// Each slice one row below the innermost one that is still open when it begins.
std::vector<std::vector<DrawnSlice>> rows_of(std::vector<DrawnSlice> slices) {
  std::ranges::stable_sort(slices, {}, [](const DrawnSlice& slice) {
    return std::pair(slice.interval.begin_ns, -slice.interval.end_ns);
  });
  std::vector<std::vector<DrawnSlice>> rows;
  for (const DrawnSlice& slice : slices) {
    size_t depth = rows.size();
    while (depth > 0 && rows[depth - 1].back().interval.end_ns <= slice.interval.begin_ns) --depth;
    if (depth == rows.size()) rows.emplace_back();
    rows[depth].push_back(slice);
  }
  return rows;
}

void add_lanes(const Trace& trace, bool on_device, PageTimeline& timeline) {
  std::vector<const Track*> tracks;
  for (const Track& track : trace.tracks()) {
    if (is_drawn(trace, track) && (track.kind == TrackKind::kGpuStream) == on_device) {
      tracks.push_back(&track);
    }
  }
  std::ranges::stable_sort(
      tracks, {}, [](const Track* track) { return std::pair(track->device, track->sort_index); });
  for (const Track* track : tracks) {
    auto rows = rows_of(slices_within(trace, *track, timeline));
    if (rows.size() > kMostDepths) timeline.lacks_inner = true;
    rows.resize(std::min(rows.size(), kMostDepths));
    for (size_t depth = 0; depth < rows.size(); ++depth) {
      timeline.slice_count += rows[depth].size();
      timeline.lanes.push_back({title_of(trace, *track), note_of(trace, *track),
                                static_cast<uint32_t>(depth), std::move(rows[depth])});
    }
  }
}

// Leaves out the shortest slices if there are more than the page draws. Of those that are just as
// long as the longest left out, some stay, evenly over lanes and time.
void thin_out(PageTimeline& timeline) {
  std::vector<int64_t> lengths;
  for (const DrawnLane& lane : timeline.lanes) {
    for (const DrawnSlice& slice : lane.slices) lengths.push_back(slice.interval.length_ns());
  }
  timeline.drawn_count = std::min(lengths.size(), kMostDrawnSlices);
  if (lengths.size() <= kMostDrawnSlices) return;
  const auto limit = lengths.begin() + static_cast<std::ptrdiff_t>(kMostDrawnSlices);
  std::nth_element(lengths.begin(), limit, lengths.end(), std::greater<>());
  const int64_t limit_ns = *limit;
  const auto ties = static_cast<size_t>(std::ranges::count(lengths, limit_ns));
  const auto kept = static_cast<size_t>(std::count(lengths.begin(), limit, limit_ns));
  size_t tie = 0;
  for (DrawnLane& lane : timeline.lanes) {
    std::erase_if(lane.slices, [&](const DrawnSlice& slice) {
      if (slice.interval.length_ns() != limit_ns) return slice.interval.length_ns() < limit_ns;
      ++tie;
      return tie * kept / ties == (tie - 1) * kept / ties;
    });
  }
  std::erase_if(timeline.lanes, [](const DrawnLane& lane) { return lane.slices.empty(); });
}

// Cuts the window into pieces and gives each the state that took most of it; no screen shows more.
std::vector<DeviceSpan> coarse(const std::vector<DeviceSpan>& exact, Interval window) {
  std::vector<std::array<int64_t, kDeviceStateCount>> pieces(kMostSpans);
  const double piece_ns = static_cast<double>(window.length_ns()) / static_cast<double>(kMostSpans);
  const auto border = [&](size_t piece) {
    return window.begin_ns + static_cast<int64_t>(piece_ns * static_cast<double>(piece));
  };
  for (const DeviceSpan& span : exact) {
    auto piece = static_cast<size_t>(static_cast<double>(span.interval.begin_ns - window.begin_ns) /
                                     piece_ns);
    for (; piece < kMostSpans && border(piece) < span.interval.end_ns; ++piece) {
      const int64_t inside_ns = std::min(span.interval.end_ns, border(piece + 1)) -
                                std::max(span.interval.begin_ns, border(piece));
      pieces[piece][static_cast<size_t>(span.state)] += std::max<int64_t>(0, inside_ns);
    }
  }
  std::vector<DeviceSpan> spans;
  for (size_t i = 0; i < kMostSpans; ++i) {
    auto& times = pieces[i];
    times[0] = border(i + 1) - border(i) - std::accumulate(times.begin(), times.end(), int64_t{0});
    const auto state = static_cast<DeviceState>(std::ranges::max_element(times) - times.begin());
    if (state == DeviceState::kIdle) continue;
    if (!spans.empty() && spans.back().state == state &&
        spans.back().interval.end_ns == border(i)) {
      spans.back().interval.end_ns = border(i + 1);
    } else {
      spans.push_back({{border(i), border(i + 1)}, state});
    }
  }
  return spans;
}

RankLane rank_lane(int number, const Trace& trace, Interval window) {
  RankLane lane;
  lane.title = fmt::format("rank {}", number);
  const DeviceWorkTable work = find_device_work(trace, NameKinds(trace));
  lane.spans = device_states(work, std::nullopt, window);
  if (lane.spans.size() > kMostSpans) lane.spans = coarse(lane.spans, window);
  return lane;
}

std::optional<ClockOffset> clock_of(const Report& report, size_t trace) {
  const auto found = std::ranges::find(report.compared, trace);
  if (!report.comparison || found == report.compared.end()) return std::nullopt;
  return report.comparison->clocks[static_cast<size_t>(found - report.compared.begin())];
}

// Converts the window from the drawn rank's clock to that of another rank.
Interval window_on(const Report& report, size_t from, size_t to, Interval window) {
  const auto own = clock_of(report, from), other = clock_of(report, to);
  if (!own || !other) return window;
  const int64_t shift_ns = own->offset_ns - other->offset_ns;
  return {window.begin_ns + shift_ns, window.end_ns + shift_ns};
}

}  // namespace

PageTimeline page_timeline(const Report& report, const TraceOf& trace_of) {
  PageTimeline timeline;
  timeline.evidence.resize(report.findings.size());
  timeline.index = advised_trace(report);
  timeline.trace = trace_of(timeline.index);
  const RankSummary& summary = report.traces[timeline.index];
  // The file may have changed since it was summarized.
  if (timeline.trace && timeline.trace->slice_count() != summary.facts.slices)
    timeline.trace.reset();
  if (!timeline.trace) return timeline;
  const Trace& trace = *timeline.trace;
  const Step* step = choose_step(report, timeline.index);
  if (step) {
    timeline.window = {std::min(step->host.begin_ns, step->window.begin_ns),
                       std::max(step->host.end_ns, step->window.end_ns)};
  }
  timeline.title =
      step && step->number ? fmt::format("step {}", *step->number) : "the whole recording";
  timeline.title += of_rank(report, summary);

  add_lanes(trace, false, timeline);
  add_lanes(trace, true, timeline);
  if (timeline.lanes.empty()) {  // of a program without operators
    timeline.draws_python = true;
    timeline.lacks_python = false;
    add_lanes(trace, false, timeline);
  }
  thin_out(timeline);
  const std::vector<int> numbers = rank_numbers(pointers_to(report.traces));
  for (size_t i = 0; i < std::min(report.traces.size(), kMostRankLanes); ++i) {
    if (report.traces[i].gpus.empty()) continue;
    const auto other = i == timeline.index ? timeline.trace : trace_of(i);
    if (!other) continue;
    const Interval window = window_on(report, timeline.index, i, timeline.window);
    RankLane lane = rank_lane(numbers[i], *other, window);
    for (DeviceSpan& span : lane.spans) {
      span.interval.begin_ns += timeline.window.begin_ns - window.begin_ns;
      span.interval.end_ns += timeline.window.begin_ns - window.begin_ns;
    }
    timeline.ranks.push_back(std::move(lane));
  }
  for (size_t i = 0; i < report.findings.size(); ++i) {
    const Finding& finding = report.findings[i];
    if (finding.trace != timeline.index) continue;
    timeline.evidence[i] = evidence_within(trace, finding, timeline.window);
  }
  return timeline;
}

}  // namespace redline::trace
