#include "viewer/models/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <span>

#include "trace/analysis/steps.h"
#include "trace/model/slice_view.h"
#include "trace/read/recorded_facts.h"
#include "trace/read/recordings.h"
#include "viewer/models/format.h"
#include "viewer/models/slice_class.h"

namespace redline::viewer {
namespace {

using trace::Trace;

std::string file_stem(const std::string& path) {
  std::string name = std::filesystem::path(path).filename().string();
  for (const std::string_view ending : {".gz", ".zst", ".json", ".trace", ".pt"}) {
    if (name.size() > ending.size() && name.ends_with(ending)) {
      name.resize(name.size() - ending.size());
    }
  }
  return name;
}

// From the first begin to the last end of the program's own slices. The profiler's "PyTorch
// Profiler" span may begin and end seconds away from these, which would leave the overview half
// empty.
TimeRange work_range(const Trace& trace) {
  const trace::Slices& slices = trace.slices();
  TimeRange range{INT64_MAX, INT64_MIN};
  for (const trace::Lane& lane : trace.lanes()) {
    if (lane.count == 0) continue;
    const uint32_t last = lane.end() - 1;
    if (slices.category[lane.first.value] == trace::Category::kSpan) continue;
    range.begin_ns = std::min(range.begin_ns, slices.begin_ns[lane.first.value]);
    range.end_ns = std::max(range.end_ns, slices.end_ns[last]);
  }
  if (range.begin_ns > range.end_ns) return {trace.begin_ns(), trace.end_ns()};
  return range;
}

using Works = std::vector<std::optional<TimeRange>>;

/// nullopt if nothing is known of the trace, or if it is empty.
std::optional<TimeRange> known_work(const Trace& trace, const RankOutline* outline) {
  if (outline) return outline->slices > 0 ? std::optional(outline->work) : std::nullopt;
  return trace.slice_count() > 0 ? std::optional(work_range(trace)) : std::nullopt;
}

// Whether each trace overlaps, or nearly overlaps, with those that began before it.
bool on_one_clock(const Works& works) {
  std::vector<TimeRange> ranges;
  int64_t longest = 0;
  for (const auto& work : works) {
    if (!work) continue;
    ranges.push_back(*work);
    longest = std::max(longest, work->span_ns());
  }
  std::ranges::sort(ranges, {}, &TimeRange::begin_ns);
  for (size_t i = 1; i < ranges.size(); ++i) {
    if (saturating_sub(ranges[i].begin_ns, ranges[i - 1].end_ns) > longest) return false;
    ranges[i].end_ns = std::max(ranges[i].end_ns, ranges[i - 1].end_ns);
  }
  return true;
}

// Whether the traces are windows of one process, which names its rank or not.
bool are_of_one_process(const Trace& one, const Trace& other) {
  const auto rank = one.metadata().rank;
  if (rank || other.metadata().rank) return rank == other.metadata().rank;
  const std::string process = trace::recorded_trace(one).process;
  return !process.empty() && process == trace::recorded_trace(other).process;
}

// The unix time at which the axis of all traces begins.
int64_t first_begin(const Works& works) {
  int64_t first = INT64_MAX;
  for (const auto& work : works) {
    if (work) first = std::min(first, work->begin_ns);
  }
  return first == INT64_MAX ? 0 : first;
}

std::vector<Step> find_steps(const Trace& trace, int64_t origin_ns) {
  std::vector<Step> steps;
  for (const trace::Step& step : trace::annotated_steps(trace)) {
    steps.push_back({std::string(trace::name_of(trace, step.slice)),
                     {saturating_sub(step.host.begin_ns, origin_ns),
                      saturating_sub(step.host.end_ns, origin_ns)},
                     step.slice});
  }
  return steps;
}

// The start of the recording often cuts the first step, so the second one is taken.
std::optional<TimeRange> first_whole_step(const std::vector<Step>& steps) {
  if (steps.empty()) return std::nullopt;
  return steps[steps.size() > 1 ? 1 : 0].range;
}

// Only what may be merged is parsed: what the file says of a large job is long.
bool is_merged(const Trace& trace) {
  const bool may_be =
      trace.metadata().top_level_json.find("\"redline_merge\"") != std::string::npos;
  return may_be && trace::RecordedFacts(trace).merged_ranks() > 1;
}

// Empty for a file of no rank or of several.
std::string rank_of(const SessionTrace& item) {
  const auto rank = item.trace->metadata().rank;
  return rank && !item.is_merged ? fmt::format("rank {}", *rank) : std::string();
}

void name_side(SessionTrace& item, bool before) {
  const std::string rank = rank_of(item);
  item.title = (before ? "before" : "after") + (rank.empty() ? rank : " · " + rank);
}

std::string title_of(const SessionTrace& item, bool alone) {
  const std::string rank = rank_of(item);
  return alone || !rank.empty() ? rank : file_stem(item.trace->path());
}

SessionTrace prepare(std::shared_ptr<const Trace> trace, int64_t origin_ns) {
  SessionTrace item;
  item.trace = std::move(trace);
  item.is_merged = is_merged(*item.trace);
  item.origin_ns = origin_ns;
  item.classes = slice_classes(*item.trace);
  item.pyramids.reserve(item.trace->lanes().size());
  for (const trace::Lane& lane : item.trace->lanes()) {
    item.pyramids.emplace_back(item.lane_columns(lane));
  }
  item.steps = find_steps(*item.trace, origin_ns);
  return item;
}

std::string name_of_run(std::span<const SessionTrace> traces) {
  if (traces.empty()) return {};
  const std::filesystem::path path(traces.front().trace->path());
  if (traces.size() == 1) return file_stem(path.string());
  std::error_code error;  // "." and ".." say nothing
  const auto whole = std::filesystem::absolute(path, error).lexically_normal();
  const std::string folder = (error ? path : whole).parent_path().filename().string();
  return fmt::format("{}{}{} traces", folder, folder.empty() ? "" : " · ", traces.size());
}

uint64_t count_issues(const std::vector<SessionTrace>& traces, bool lost) {
  uint64_t sum = 0;
  for (const SessionTrace& item : traces) {
    const auto add = [&](const auto& issues) {
      for (const trace::LoadIssue& issue : issues) {
        if (issue.info().lost_data == lost) sum += issue.count;
      }
    };
    add(item.trace->issues());
    if (!item.is_loaded && item.outline) add(item.outline->issues);
  }
  return sum;
}

// How many slices of at least `wide_ns`, whose names could be read, touch the range.
size_t count_legible(const Session& session, TimeRange range, int64_t wide_ns) {
  size_t count = 0;
  for (const SessionTrace& item : session.traces()) {
    const int64_t begin = saturating_sum(range.begin_ns, item.origin_ns);
    const int64_t end = saturating_sum(range.end_ns, item.origin_ns);
    for (const trace::Lane& lane : item.trace->lanes()) {
      const LaneColumns columns = item.lane_columns(lane);
      const auto first = std::upper_bound(columns.end_ns.begin(), columns.end_ns.end(), begin);
      for (size_t i = static_cast<size_t>(first - columns.end_ns.begin());
           i < columns.size() && columns.begin_ns[i] < end; ++i) {
        if (saturating_sub(columns.end_ns[i], columns.begin_ns[i]) >= wide_ns) ++count;
      }
    }
  }
  return count;
}

}  // namespace

std::optional<TimeRange> SessionTrace::work() const {
  return known_work(*trace, is_loaded ? nullptr : outline.get());
}

LaneColumns SessionTrace::lane_columns(const trace::Lane& lane) const {
  const trace::Slices& slices = trace->slices();
  return {trace::of_lane(slices.begin_ns, lane), trace::of_lane(slices.end_ns, lane),
          trace::of_lane(std::span(classes), lane)};
}

Session::Session(std::vector<std::shared_ptr<const Trace>> traces, size_t before_count)
    : before_count_(before_count) {
  std::vector<SessionSource> sources;
  for (auto& trace : traces) sources.push_back({std::move(trace)});
  fill(sources);
}

Session Session::of_ranks(const std::vector<SessionSource>& sources) {
  Session session(std::vector<std::shared_ptr<const Trace>>{});
  session.fill(sources);
  return session;
}

void Session::fill(const std::vector<SessionSource>& sources) {
  const bool comparing = before_count_ > 0;
  Works works;
  for (const SessionSource& source : sources) {
    works.push_back(known_work(*source.trace, nullptr));
  }
  aligned_at_start_ = !comparing && !on_one_clock(works);
  const int64_t first = first_begin(works);
  const bool alone = sources.size() == 1;
  std::map<std::string, size_t> titles;  // counts the recordings of each rank
  for (const SessionSource& source : sources) {
    const Trace& trace = *source.trace;
    const TimeRange work = work_range(trace);
    int64_t origin = aligned_at_start_ ? work.begin_ns : first;
    if (comparing) origin = first_whole_step(find_steps(trace, 0)).value_or(work).begin_ns;
    SessionTrace& item = traces_.emplace_back(prepare(source.trace, origin));
    item.is_loaded = source.is_loaded;
    item.title = title_of(item, alone);
    if (comparing) name_side(item, traces_.size() <= before_count_);
    const size_t same = ++titles[item.title];
    if (same > 1) item.title += fmt::format(" · {}", same);
  }
  measure();
}

void Session::measure() {
  range_ = {};
  for (const SessionTrace& item : traces_) {
    const auto work = item.work();
    if (!work) continue;
    range_.begin_ns = std::min(range_.begin_ns, saturating_sub(work->begin_ns, item.origin_ns));
    range_.end_ns = std::max(range_.end_ns, saturating_sub(work->end_ns, item.origin_ns));
  }
  find_marked_steps();
}

void Session::find_marked_steps() {
  steps_.clear();
  const SessionTrace* first = nullptr;
  for (const SessionTrace& item : traces_) {
    if (item.steps.empty()) continue;
    if (!first) {
      first = &item;
      steps_ = item.steps;
      if (before_count_ > 0) return;
    } else if (are_of_one_process(*first->trace, *item.trace)) {
      if (aligned_at_start_) return steps_.clear();
      // Windows of a flight recorder may hold the same steps.
      const int64_t end_ns = steps_.back().range.end_ns;
      std::ranges::copy_if(item.steps, std::back_inserter(steps_),
                           [end_ns](const Step& step) { return step.range.begin_ns >= end_ns; });
    }
  }
}

size_t Session::loaded_count() const {
  return static_cast<size_t>(std::ranges::count(traces_, true, &SessionTrace::is_loaded));
}

SessionTrace Session::prepared(uint32_t trace, std::shared_ptr<const Trace> loaded) const {
  const SessionTrace& known = traces_[trace];
  const bool is_placed = !aligned_at_start_ || known.outline;
  const int64_t origin = is_placed ? known.origin_ns : work_range(*loaded).begin_ns;
  SessionTrace item = prepare(std::move(loaded), origin);
  item.title = known.title;
  return item;
}

namespace {

// Moves the trace on the axis.
void place_at(SessionTrace& item, int64_t origin_ns) {
  for (Step& step : item.steps) {
    for (int64_t* time_ns : {&step.range.begin_ns, &step.range.end_ns}) {
      *time_ns = saturating_sub(saturating_sum(*time_ns, item.origin_ns), origin_ns);
    }
  }
  item.origin_ns = origin_ns;
}

}  // namespace

Session Session::with(const std::map<uint32_t, SessionTrace>& loaded) const {
  Session result = *this;
  for (const auto& [t, item] : loaded) {
    const bool is_placed = !aligned_at_start_ || traces_[t].outline;
    result.traces_[t] = item;
    // The axis may have moved since the trace was prepared.
    if (is_placed) place_at(result.traces_[t], traces_[t].origin_ns);
  }
  result.measure();
  return result;
}

Session Session::outlined(const std::vector<std::shared_ptr<const RankOutline>>& outlines) const {
  Session result = *this;
  Works works;
  for (size_t t = 0; t < traces_.size(); ++t) {
    SessionTrace& item = result.traces_[t];
    if (!item.is_loaded && outlines[t]) item.outline = outlines[t];
    works.push_back(item.work());
  }
  result.aligned_at_start_ = !on_one_clock(works);
  const int64_t first = first_begin(works);
  for (size_t t = 0; t < traces_.size(); ++t) {
    const bool is_own = result.aligned_at_start_ && works[t];
    place_at(result.traces_[t], is_own ? works[t]->begin_ns : first);
  }
  result.measure();
  return result;
}

Session Session::shifted(const std::vector<int64_t>& shift_ns) const {
  Session result = *this;
  for (size_t t = 0; t < traces_.size(); ++t) {
    place_at(result.traces_[t], saturating_sub(traces_[t].origin_ns, shift_ns[t]));
  }
  result.measure();
  return result;
}

std::string Session::name() const {
  if (traces_.empty()) return {};
  const std::span<const SessionTrace> all(traces_);
  if (before_count_ == 0) return name_of_run(all);
  return fmt::format("{} → {}", name_of_run(all.first(before_count_)),
                     name_of_run(all.subspan(before_count_)));
}

uint64_t Session::event_count() const {
  uint64_t sum = 0;
  for (const SessionTrace& item : traces_) {
    sum += !item.is_loaded && item.outline ? item.outline->events : item.trace->event_count();
  }
  return sum;
}

uint64_t Session::lost_count() const { return count_issues(traces_, true); }
uint64_t Session::repaired_count() const { return count_issues(traces_, false); }

size_t Session::lane_count() const {
  size_t sum = 0;
  for (const SessionTrace& item : traces_) sum += item.trace->lanes().size();
  return sum;
}

bool Session::is_changed() const {
  return std::ranges::any_of(
      traces_, [](const SessionTrace& item) { return item.trace->text().is_changed(); });
}

TimeRange Session::range_of(SliceRef ref) const {
  const SessionTrace& item = traces_[ref.trace];
  const trace::Slices& slices = item.trace->slices();
  return {saturating_sub(slices.begin_ns[ref.slice.value], item.origin_ns),
          saturating_sub(slices.end_ns[ref.slice.value], item.origin_ns)};
}

TimeRange Session::range_of(TimeRef ref) const {
  const int64_t origin_ns = traces_[ref.trace].origin_ns;
  return {saturating_sub(ref.begin_ns, origin_ns), saturating_sub(ref.end_ns, origin_ns)};
}

std::string_view Session::name_of(SliceRef ref) const {
  return trace::name_of(*traces_[ref.trace].trace, ref.slice);
}

const trace::Lane& Session::lane_of(SliceRef ref) const {
  const Trace& trace = *traces_[ref.trace].trace;
  return trace.lanes()[trace.slices().lane[ref.slice.value].value];
}

void keep_longer(const Session& session, SliceRef& longest, SliceRef call) {
  const auto length = [&session](SliceRef ref) { return session.range_of(ref).span_ns(); };
  if (!longest || length(call) > length(longest)) longest = call;
}

bool shares_recordings(const Session& before, const Session& after) {
  std::map<std::string_view, TimeRange> known;
  for (const SessionTrace& item : before.traces()) {
    if (const auto work = item.work()) known.emplace(item.trace->path(), *work);
  }
  return std::ranges::any_of(after.traces(), [&known](const SessionTrace& item) {
    const auto found = known.find(item.trace->path());
    const auto work = item.work();
    return work && found != known.end() && work->begin_ns <= found->second.end_ns &&
           found->second.begin_ns <= work->end_ns;
  });
}

TimeRange first_view(const Session& session, int width) {
  constexpr size_t kEnoughNames = 4;
  constexpr int kNamePixels = 50;
  constexpr int kMostParts = 4;
  constexpr size_t kShownSteps = 2;
  TimeRange range = session.range();
  if (range.span_ns() <= 0) return {0, 1'000'000};
  const auto legible = [&](TimeRange r) {
    return count_legible(session, r, r.span_ns() / std::max(width, 1) * kNamePixels);
  };
  const auto has_steps = [](const SessionTrace& item) { return !item.steps.empty(); };
  const auto first = std::ranges::find_if(session.traces(), has_steps);
  const std::vector<Step> steps =
      first == session.traces().end() ? std::vector<Step>() : first->steps;
  if (steps.size() <= kShownSteps && legible(range) >= kEnoughNames) return range;
  range = first_whole_step(steps).value_or(range);
  const TimeRange all = range;
  size_t most = legible(all);
  for (int parts = 2; parts <= kMostParts && most < kEnoughNames; parts *= 2) {
    const int64_t span_ns = all.span_ns() / parts;
    for (int i = 0; i < parts; ++i) {
      const int64_t begin_ns = saturating_sum(all.begin_ns, i * span_ns);
      const TimeRange part{begin_ns, saturating_sum(begin_ns, span_ns)};
      const size_t names = legible(part);
      if (names <= most) continue;
      most = names;
      range = part;
    }
  }
  return range;
}

}  // namespace redline::viewer
