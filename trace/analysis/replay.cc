#include "trace/analysis/replay.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "trace/analysis/host_tree.h"
#include "trace/analysis/waiting_calls.h"
#include "trace/model/category.h"
#include "trace/model/loader_workers.h"
#include "trace/model/slice_view.h"

namespace redline::trace {
namespace {

// What a call that waits takes if there is nothing to wait for, and a batch that is ready.
constexpr int64_t kCallNs = 5'000;
constexpr int64_t kReadyBatchNs = 50'000;
// Without a launch that found its stream idle: what a launch and its successor usually take.
constexpr int64_t kUsualLaunchNs = 5'000;
constexpr int64_t kUsualGapNs = 1'000;
constexpr size_t kNothing = SIZE_MAX;
constexpr int64_t kUnset = INT64_MIN;

// A stretch of a thread's time in which the innermost slice is the same one, or none.
struct Stretch {
  Interval time;
  SliceId inside;
  SliceId ended;  ///< the outermost slice of those that ended with it; none() if none did
  uint32_t thread = 0;
};

// Something that ended: a row of the table of GPU work, or a stretch.
struct Ended {
  int64_t at_ns;
  uint32_t index;
  bool is_stretch;
};

// A wait for a batch that worker processes make.
bool is_batch_wait(const Trace& trace, const NameKinds& names, SliceId slice) {
  const StringId name = trace.slices().name[slice.value];
  return names.is(name, kDataLoaderName) && is_of_workers(trace.string(name));
}

// Of the slices that begin before `until_ns`. A wait for a batch is one stretch, whatever frames of
// Python it has.
void add_stretches(const Trace& trace, const NameKinds& names, const Track& track, uint32_t thread,
                   int64_t until_ns, std::vector<Stretch>& stretches) {
  const auto& slices = trace.slices();
  const bool has_gpu_work = track.kind == TrackKind::kGpuStream;
  std::vector<uint32_t> next(track.lane_count);  // by depth, within its lane
  std::vector<SliceId> open;
  int64_t now_ns = trace.begin_ns();
  const auto until = [&](int64_t time_ns, SliceId ended) {
    if (time_ns <= now_ns && !ended) return;
    stretches.push_back({{now_ns, std::max(now_ns, time_ns)},
                         open.empty() ? SliceId::none() : open.back(),
                         ended,
                         thread});
    now_ns = std::max(now_ns, time_ns);
  };
  const auto close_before = [&](int64_t time_ns) {
    while (!open.empty() && slices.end_ns[open.back().value] <= time_ns) {
      // Of slices that end together, the outermost one is said to have ended.
      SliceId ended = open.back();
      const int64_t end_ns = slices.end_ns[ended.value];
      size_t outermost = open.size() - 1;
      while (outermost > 0 && slices.end_ns[open[outermost - 1].value] == end_ns) --outermost;
      ended = open[outermost];
      until(end_ns, ended);
      open.resize(outermost);
    }
  };
  while (true) {
    // The next slice to begin; of several the outermost one.
    size_t depth = kNothing;
    SliceId first;
    for (size_t i = 0; i < track.lane_count; ++i) {
      const Lane& lane = trace.lanes()[track.first_lane.value + i];
      const auto categories = of_lane(slices.category, lane);
      while (has_gpu_work && next[i] < lane.count && is_on_stream(categories[next[i]])) ++next[i];
      if (next[i] == lane.count) continue;
      const SliceId slice{lane.first.value + next[i]};
      if (slices.begin_ns[slice.value] >= until_ns) continue;
      if (depth != kNothing && slices.begin_ns[slice.value] >= slices.begin_ns[first.value])
        continue;
      depth = i;
      first = slice;
    }
    if (depth == kNothing) break;
    ++next[depth];
    close_before(slices.begin_ns[first.value]);
    if (slices.category[first.value] == Category::kPythonFunction && !open.empty() &&
        is_batch_wait(trace, names, open.back()) &&
        slices.end_ns[first.value] <= slices.end_ns[open.back().value]) {
      continue;
    }
    until(slices.begin_ns[first.value], SliceId::none());
    open.push_back(first);
  }
  close_before(INT64_MAX);
}

class Replay {
 public:
  Replay(const Analysis& analysis, const Change& change, size_t step_count)
      : analysis_(analysis),
        steps_(std::span(analysis.steps).first(std::min(step_count, analysis.steps.size()))),
        until_ns_(step_count < analysis.steps.size() ? steps_.back().window.end_ns : INT64_MAX),
        trace_(*analysis.trace),
        table_(analysis.device_work),
        change_(change),
        names_(trace_),
        calls_(waiting_calls_of(trace_)),
        new_begin_ns_(trace_.slice_count(), kUnset),
        new_row_end_ns_(table_.rows.size()) {}

  std::vector<int64_t> run() {
    find_stretches();
    last_of_stream_.assign(table_.streams.size(), kNothing);
    find_usual_times();
    for (const Ended& each : in_order_of_ends()) {
      each.is_stretch ? do_stretch(stretches_[each.index]) : do_row(each.index);
    }
    return lengths();
  }

 private:
  struct Thread {
    int64_t now_ns = 0, new_now_ns = 0;  ///< where its last stretch ended, in both times
    SliceId ended;
    size_t stretch = kNothing;                   ///< the last one that was done
    size_t before = kNothing, after = kNothing;  ///< in the list of threads by now_ns
  };

  void find_stretches() {
    const std::vector<bool> is_thread = find_threads(trace_);
    uint32_t thread = 0;
    for (size_t i = 0; i < is_thread.size(); ++i) {
      if (!is_thread[i]) continue;
      add_stretches(trace_, names_, trace_.tracks()[i], thread++, until_ns_, stretches_);
    }
    threads_.resize(thread);
    for (size_t i = 0; i < threads_.size(); ++i) {
      threads_[i].now_ns = threads_[i].new_now_ns = trace_.begin_ns();
      threads_[i].before = i == 0 ? kNothing : i - 1;
      threads_[i].after = i + 1 == threads_.size() ? kNothing : i + 1;
    }
    latest_thread_ = threads_.empty() ? kNothing : threads_.size() - 1;
    new_stretch_end_ns_.resize(stretches_.size());
    next_of_.assign(stretches_.size(), SliceId::none());
    for (size_t i = 0; i + 1 < stretches_.size(); ++i) {
      if (stretches_[i + 1].thread == stretches_[i].thread) next_of_[i] = stretches_[i + 1].inside;
    }
  }

  [[nodiscard]] std::vector<Ended> in_order_of_ends() const {
    std::vector<Ended> order;
    order.reserve(table_.rows.size() + stretches_.size());
    for (uint32_t i = 0; i < table_.rows.size(); ++i) {
      const Interval time = table_.rows[i].interval;
      if (time.begin_ns < until_ns_) order.push_back({time.end_ns, i, false});
    }
    for (uint32_t i = 0; i < stretches_.size(); ++i) {
      order.push_back({stretches_[i].time.end_ns, i, true});
    }
    std::ranges::stable_sort(order, {}, &Ended::at_ns);
    return order;
  }

  void find_usual_times() {
    std::vector<int64_t> launches_ns, gaps_ns;
    for (size_t i = 0; i < table_.rows.size(); ++i) {
      const DeviceWork& work = table_.rows[i];
      if (!work.launch) continue;
      const int64_t launched_ns = interval_of(trace_, work.launch).begin_ns;
      const size_t before = row_before(i);
      const int64_t free_ns = before == kNothing ? INT64_MIN : table_.rows[before].interval.end_ns;
      const int64_t began_ns = work.interval.begin_ns;
      if (free_ns < launched_ns) {
        launches_ns.push_back(began_ns - launched_ns);
      } else {
        gaps_ns.push_back(began_ns - free_ns);
      }
    }
    usual_launch_ns_ = quarter_of(launches_ns, kUsualLaunchNs);
    usual_gap_ns_ = quarter_of(gaps_ns, kUsualGapNs);
  }

  // The lower quartile: many also waited for something that the trace does not show.
  static int64_t quarter_of(std::vector<int64_t>& values, int64_t otherwise) {
    if (values.empty()) return otherwise;
    const auto quarter = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 4);
    std::nth_element(values.begin(), quarter, values.end());
    return std::max<int64_t>(0, *quarter);
  }

  [[nodiscard]] size_t stream_index_of(size_t row) const {
    const auto after = std::ranges::upper_bound(table_.streams, row, {}, &DeviceStream::first);
    return static_cast<size_t>(after - table_.streams.begin()) - 1;
  }

  [[nodiscard]] size_t row_before(size_t row) const {
    return row == table_.streams[stream_index_of(row)].first ? kNothing : row - 1;
  }

  [[nodiscard]] int64_t scaled(int64_t length_ns, SliceId slice) const {
    if (!slice) return length_ns;
    const double factor = static_cast<double>(change_.factor[slice.value]);
    return factor == 1 ? length_ns : std::llround(static_cast<double>(length_ns) * factor);
  }

  // When an effect happens after a cause, and after others; in the old time and in the new one.
  struct Causes {
    int64_t at_ns;  // of the effect, in the old time
    int64_t known_ns = INT64_MIN, new_ns = INT64_MIN;

    // The effect comes `usual_ns` after this cause, or sooner if it did so.
    void add(int64_t cause_ns, int64_t new_cause_ns, int64_t usual_ns) {
      const int64_t delay_ns = std::min(usual_ns, at_ns - cause_ns);
      if (delay_ns < 0) return;  // it was before its cause: a broken trace
      known_ns = std::max(known_ns, cause_ns + delay_ns);
      new_ns = std::max(new_ns, new_cause_ns + delay_ns);
    }
    // What no cause explains stays.
    [[nodiscard]] int64_t result() const { return new_ns + (at_ns - known_ns); }
  };

  void do_row(uint32_t row) {
    const DeviceWork& work = table_.rows[row];
    const size_t stream = stream_index_of(row);
    Causes causes{work.interval.begin_ns};
    if (work.launch && new_begin_ns_[work.launch.value] != kUnset) {
      causes.add(interval_of(trace_, work.launch).begin_ns, new_begin_ns_[work.launch.value],
                 usual_launch_ns_);
    }
    const size_t before = row_before(row);
    if (before != kNothing) {
      causes.add(table_.rows[before].interval.end_ns, new_row_end_ns_[before], usual_gap_ns_);
    }
    if (work.launch && causes.known_ns < causes.at_ns) add_other_streams(row, stream, causes);
    int64_t new_begin_ns = work.interval.begin_ns;
    if (causes.known_ns != INT64_MIN) new_begin_ns = causes.result();
    new_row_end_ns_[row] = new_begin_ns + scaled(work.interval.length_ns(), work.slice);
    last_of_stream_[stream] = row;
  }

  // Work of another stream that ended in the gap before this one and was launched earlier.
  void add_other_streams(uint32_t row, size_t stream, Causes& causes) const {
    const int64_t launched_ns = interval_of(trace_, table_.rows[row].launch).begin_ns;
    size_t latest = kNothing;
    for (size_t i = 0; i < last_of_stream_.size(); ++i) {
      if (i == stream || table_.streams[i].device != table_.streams[stream].device) continue;
      size_t other = last_of_stream_[i];
      while (other != kNothing && table_.rows[other].interval.end_ns > causes.at_ns) {
        other = row_before(other);
      }
      if (other == kNothing || table_.rows[other].interval.end_ns <= causes.known_ns) continue;
      const SliceId launch = table_.rows[other].launch;
      if (!launch || interval_of(trace_, launch).begin_ns >= launched_ns) continue;
      if (latest == kNothing ||
          table_.rows[other].interval.end_ns > table_.rows[latest].interval.end_ns) {
        latest = other;
      }
    }
    if (latest == kNothing) return;
    causes.add(table_.rows[latest].interval.end_ns, new_row_end_ns_[latest], INT64_MAX);
  }

  void do_stretch(const Stretch& stretch) {
    Thread& thread = threads_[stretch.thread];
    const auto index = static_cast<size_t>(&stretch - stretches_.data());
    thread.new_now_ns = new_end_of(stretch, thread.new_now_ns);
    thread.now_ns = stretch.time.end_ns;
    thread.ended = stretch.ended;
    thread.stretch = index;
    new_stretch_end_ns_[index] = thread.new_now_ns;
    to_front(stretch.thread);
    if (next_of_[index] && trace_.slices().begin_ns[next_of_[index].value] == thread.now_ns) {
      new_begin_ns_[next_of_[index].value] = thread.new_now_ns;
    }
  }

  [[nodiscard]] int64_t new_end_of(const Stretch& stretch, int64_t new_begin_ns) {
    const int64_t length_ns = stretch.time.length_ns();
    const StringId name =
        stretch.inside ? trace_.slices().name[stretch.inside.value] : StringId::none();
    const Category category =
        stretch.inside ? trace_.slices().category[stretch.inside.value] : Category::kOther;
    if (stretch.inside && is_launch(category)) {
      return end_of_call(stretch, name, new_begin_ns);
    }
    if (stretch.inside && is_batch_wait(trace_, names_, stretch.inside)) {
      return end_of_wait_for_batch(stretch, new_begin_ns);
    }
    const bool is_pause =
        !stretch.inside || (category != Category::kCpuOp &&
                            !(is_host_node(category) && names_.is(name, kCommunicationOpName)) &&
                            !names_.is(name, kDataLoaderName));
    if (is_pause && length_ns >= kLeastHandOverNs) {
      if (const auto handed = end_of_pause(stretch, new_begin_ns)) return *handed;
    }
    return new_begin_ns + scaled(length_ns, stretch.inside);
  }

  // A call that waits returns when all work that was launched before it has ended.
  [[nodiscard]] int64_t end_of_call(const Stretch& call, StringId name, int64_t new_begin_ns) {
    const WaitingCall kind = name ? calls_[name.value] : WaitingCall::kNone;
    const int64_t length_ns = call.time.length_ns();
    if (kind == WaitingCall::kNone) return new_begin_ns + scaled(length_ns, call.inside);
    const int64_t begin_ns = interval_of(trace_, call.inside).begin_ns;
    int64_t awaited_ns = INT64_MIN, new_awaited_ns = INT64_MIN;
    for (const size_t last : last_of_stream_) {
      if (last == kNothing) continue;
      const DeviceWork& work = table_.rows[last];
      const bool is_own = work.launch == call.inside;
      const bool is_earlier = !work.launch || interval_of(trace_, work.launch).begin_ns < begin_ns;
      if (kind == WaitingCall::kCopies ? !is_own : !is_earlier) continue;
      awaited_ns = std::max(awaited_ns, work.interval.end_ns);
      new_awaited_ns = std::max(new_awaited_ns, new_row_end_ns_[last]);
    }
    const bool did_wait = awaited_ns > call.time.begin_ns && awaited_ns <= call.time.end_ns;
    if (!did_wait) {
      const int64_t done_ns = new_begin_ns + scaled(length_ns, call.inside);
      return kind == WaitingCall::kSynchronises ? std::max(done_ns, new_awaited_ns) : done_ns;
    }
    const int64_t own_ns = std::min(kCallNs, length_ns);
    return std::max(new_begin_ns + own_ns, new_awaited_ns + (call.time.end_ns - awaited_ns));
  }

  // Worker processes make a batch in a time of their own: where the job waited for one, the next
  // one comes that much later.
  [[nodiscard]] int64_t end_of_wait_for_batch(const Stretch& wait, int64_t new_begin_ns) {
    const int64_t length_ns = wait.time.length_ns();
    const int64_t own_ns = std::min(kReadyBatchNs, length_ns);
    if (length_ns <= kReadyBatchNs) {
      batch_ns_ = wait.time.end_ns, new_batch_ns_ = new_begin_ns + own_ns;
      return new_begin_ns + own_ns;
    }
    int64_t ready_ns = new_begin_ns + scaled(length_ns, wait.inside);
    if (batch_ns_) {
      const auto made_ns = static_cast<double>(wait.time.end_ns - *batch_ns_);
      ready_ns = new_batch_ns_ + std::llround(made_ns * change_.loader_factor);
    } else {
      ready_ns =
          new_begin_ns + std::llround(static_cast<double>(length_ns) * change_.loader_factor);
    }
    const int64_t end_ns = std::max(new_begin_ns + own_ns, ready_ns);
    batch_ns_ = wait.time.end_ns, new_batch_ns_ = ready_ns;
    return end_ns;
  }

  // The pause ends when the thread that worked in it last is done; nullopt if none did.
  [[nodiscard]] std::optional<int64_t> end_of_pause(const Stretch& pause, int64_t new_begin_ns) {
    for (size_t i = latest_thread_; i != kNothing; i = threads_[i].before) {
      const Thread& other = threads_[i];
      if (other.now_ns <= pause.time.begin_ns) return std::nullopt;
      if (i == pause.thread || !worked_for(pause, other)) continue;
      const int64_t after_ns = pause.time.end_ns - other.now_ns;
      return std::max(new_begin_ns, other.new_now_ns) + scaled(after_ns, pause.inside);
    }
    return std::nullopt;
  }

  [[nodiscard]] bool worked_for(const Stretch& pause, const Thread& other) const {
    const bool is_inside = other.stretch != kNothing && next_of_[other.stretch];
    return worked_in_pause(trace_, names_, {other.ended, other.now_ns, is_inside}, pause.inside,
                           pause.time, pause.time.begin_ns);
  }

  void to_front(size_t index) {
    if (index == latest_thread_) return;
    Thread& thread = threads_[index];
    if (thread.before != kNothing) threads_[thread.before].after = thread.after;
    threads_[thread.after].before = thread.before;
    thread.before = latest_thread_;
    thread.after = kNothing;
    threads_[latest_thread_].after = index;
    latest_thread_ = index;
  }

  // The new time of an old one at which something on the thread began or ended; the old one if the
  // thread did nothing then.
  [[nodiscard]] int64_t new_time_of(int64_t time_ns, uint32_t thread) const {
    const auto after = std::ranges::partition_point(stretches_, [&](const Stretch& stretch) {
      return stretch.thread != thread ? stretch.thread < thread : stretch.time.end_ns <= time_ns;
    });
    if (after == stretches_.begin() || std::prev(after)->thread != thread) return time_ns;
    const auto index = static_cast<size_t>(std::prev(after) - stretches_.begin());
    return new_stretch_end_ns_[index] + (time_ns - stretches_[index].time.end_ns);
  }

  // The thread of the steps' annotations; without them, of the first operator.
  [[nodiscard]] uint32_t main_thread() const {
    const int64_t first_ns = steps_.front().host.begin_ns;
    uint32_t beginning = 0;
    for (const Stretch& stretch : stretches_) {
      if (stretch.inside && stretch.time.begin_ns == first_ns) beginning = stretch.thread;
      if (stretch.inside && names_.is(trace_.slices().name[stretch.inside.value], kStepName)) {
        return stretch.thread;
      }
    }
    return beginning;
  }

  // When the last work ended that was launched in the step.
  [[nodiscard]] std::vector<int64_t> device_ends() const {
    std::vector<int64_t> ends_ns(steps_.size(), INT64_MIN);
    for (size_t row = 0; row < table_.rows.size(); ++row) {
      if (!table_.rows[row].launch) continue;
      const Interval launch = interval_of(trace_, table_.rows[row].launch);
      const Step* step = step_at(analysis_.steps, &Step::host, launch.begin_ns);
      if (!step || launch.end_ns > step->host.end_ns) continue;
      const auto index = static_cast<size_t>(step - analysis_.steps.data());
      if (index >= ends_ns.size()) continue;
      int64_t& end_ns = ends_ns[index];
      end_ns = std::max(end_ns, new_row_end_ns_[row]);
    }
    return ends_ns;
  }

  [[nodiscard]] std::vector<int64_t> lengths() const {
    std::vector<int64_t> lengths_ns;
    if (steps_.empty()) return lengths_ns;
    const uint32_t thread = main_thread();
    const std::vector<int64_t> device_ends_ns = device_ends();
    std::optional<int64_t> end_before_ns;
    for (size_t i = 0; i < steps_.size(); ++i) {
      const Step& step = steps_[i];
      int64_t begin_ns = new_time_of(step.host.begin_ns, thread);
      if (!end_before_ns) begin_ns += step.window.begin_ns - step.host.begin_ns;
      begin_ns = std::max(begin_ns, end_before_ns.value_or(INT64_MIN));
      int64_t end_ns = std::max(new_time_of(step.host.end_ns, thread), device_ends_ns[i]);
      if (!step.number) end_ns = end_of_all(step.window.end_ns);
      end_ns = std::max(end_ns, begin_ns);  // work of the step before may go on behind this one
      lengths_ns.push_back(end_ns - begin_ns);
      end_before_ns = end_ns;
    }
    return lengths_ns;
  }

  // Of all that had ended by then.
  [[nodiscard]] int64_t end_of_all(int64_t time_ns) const {
    int64_t end_ns = INT64_MIN;
    for (size_t i = 0; i < stretches_.size(); ++i) {
      if (stretches_[i].time.end_ns <= time_ns) end_ns = std::max(end_ns, new_stretch_end_ns_[i]);
    }
    for (size_t i = 0; i < table_.rows.size(); ++i) {
      if (table_.rows[i].interval.end_ns <= time_ns) end_ns = std::max(end_ns, new_row_end_ns_[i]);
    }
    return end_ns;
  }

  const Analysis& analysis_;
  std::span<const Step> steps_;
  int64_t until_ns_;
  const Trace& trace_;
  const DeviceWorkTable& table_;
  const Change& change_;
  NameKinds names_;
  std::vector<WaitingCall> calls_;     // by name
  std::vector<Stretch> stretches_;     // by thread, then time
  std::vector<SliceId> next_of_;       // what the next stretch of the thread is inside of
  std::vector<int64_t> new_begin_ns_;  // of slices of threads; kUnset: not known
  std::vector<int64_t> new_stretch_end_ns_;
  std::vector<int64_t> new_row_end_ns_;  // of rows of the table
  std::vector<size_t> last_of_stream_;   // the last row that was done
  std::vector<Thread> threads_;
  size_t latest_thread_ = kNothing;
  int64_t usual_launch_ns_ = 0, usual_gap_ns_ = 0;
  std::optional<int64_t> batch_ns_;  // when the last batch was there
  int64_t new_batch_ns_ = 0;
};

}  // namespace

std::vector<int64_t> replay(const Analysis& analysis, const Change& change, size_t step_count) {
  return Replay(analysis, change, step_count).run();
}

size_t steps_for_a_quick_replay(const Analysis& analysis) {
  constexpr size_t kSlices = 200'000;
  const size_t all = std::max<size_t>(1, analysis.trace->slice_count());
  return std::max<size_t>(1, analysis.steps.size() * std::min(kSlices, all) / all);
}

}  // namespace redline::trace
