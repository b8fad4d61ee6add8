#include "trace/analysis/critical_path.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <utility>

#include "base/natural_sort.h"
#include "trace/analysis/host_tree.h"
#include "trace/analysis/waiting_calls.h"
#include "trace/model/category.h"
#include "trace/model/slice_view.h"
#include "trace/model/thread_cursor.h"

namespace redline::trace {
namespace {

// In a broken trace, pieces of work without length may refer to each other in a circle.
constexpr int kMostStanding = 100;
constexpr size_t kNames = 10;
constexpr size_t kLongest = 10;
constexpr size_t kNone = SIZE_MAX;

// The threads that lived at a time and so may have been waited for. Each time asked for must be
// earlier than the one before. A job that starts a thread for every batch has thousands of threads,
// but only few at once.
class LivingThreads {
 public:
  LivingThreads(const Trace& trace, const std::vector<bool>& is_thread) {
    to_come_.reserve(static_cast<size_t>(std::ranges::count(is_thread, true)));
    for (size_t thread = 0; thread < is_thread.size(); ++thread) {
      if (!is_thread[thread]) continue;
      Life life{thread, {INT64_MAX, INT64_MIN}};
      for (const Lane& lane : lanes_of(trace, trace.tracks()[thread])) {
        if (lane.count == 0) continue;
        const SliceId last{lane.end() - 1};
        life.time.begin_ns = std::min(life.time.begin_ns, interval_of(trace, lane.first).begin_ns);
        life.time.end_ns = std::max(life.time.end_ns, interval_of(trace, last).end_ns);
      }
      to_come_.push_back(life);
    }
    std::ranges::sort(to_come_, {},
                      [](const Life& life) { return std::pair(life.time.end_ns, life.thread); });
  }

  // Calls `look` for the threads that may have done something from `since_ns` on and before
  // `until_ns`, and `forget` for those that it has seen and that had not begun yet. `look` returns
  // a new `since_ns` for the threads that follow.
  template <typename Look, typename Forget>
  void visit(int64_t since_ns, int64_t until_ns, const Look& look, const Forget& forget) {
    std::erase_if(living_, [&](const Life& life) {
      const bool is_over = life.time.begin_ns >= until_ns;
      if (is_over) forget(life.thread);
      return is_over;
    });
    for (const Life& life : living_) since_ns = look(life.thread);
    while (!to_come_.empty() && to_come_.back().time.end_ns >= since_ns) {
      living_.push_back(to_come_.back());
      to_come_.pop_back();
      since_ns = look(living_.back().thread);
    }
  }

 private:
  struct Life {
    size_t thread;
    Interval time;
  };

  std::vector<Life> to_come_;  // by end
  std::vector<Life> living_;
};

// The rows of a stream that ended by a time. Each time asked for must be earlier than the one
// before.
class StreamCursor {
 public:
  StreamCursor(const DeviceWorkTable& table, const DeviceStream& stream)
      : rows_(table.of(stream)),
        first_(stream.first),
        device_(stream.device),
        left_(stream.count) {}

  // The last row that ended by `time_ns`; kNone if there is none.
  [[nodiscard]] size_t ended_by(int64_t time_ns) {
    while (left_ > 0 && rows_[left_ - 1].interval.end_ns > time_ns) --left_;
    return left_ == 0 ? kNone : first_ + left_ - 1;
  }
  [[nodiscard]] int32_t device() const { return device_; }
  [[nodiscard]] size_t first() const { return first_; }

 private:
  std::span<const DeviceWork> rows_;
  size_t first_;
  int32_t device_;
  size_t left_;
};

class PathWalker {
 public:
  PathWalker(const Trace& trace, const NameKinds& names, const DeviceWorkTable& table,
             const std::function<void(const PathPart&)>& visit)
      : trace_(trace),
        names_(names),
        table_(table),
        visit_(visit),
        calls_(waiting_calls_of(trace)),
        is_thread_(find_threads(trace)),
        living_(trace, is_thread_) {
    for (const DeviceStream& stream : table.streams) streams_.emplace_back(table, stream);
    for (uint32_t i = 0; i < table.rows.size(); ++i) {
      const SliceId launch = table.rows[i].launch;
      if (!table.rows[i].is_kernel() && launch) copies_.emplace_back(launch, i);
    }
    natural_sort(std::span(copies_), std::less<>());
    main_thread_ = find_main_thread();
  }

  void step(const Step& step) {
    begin_ns_ = step.window.begin_ns;
    time_ns_ = step.window.end_ns;
    thread_ = main_thread_;
    row_ = last_ended(time_ns_, [&](const DeviceWork& work, int32_t) {
      return work.interval.end_ns == step.window.end_ns;
    });
    if (step.window.end_ns == step.host.end_ns) row_ = kNone;
    int standing = 0;  // steps of the walk that did not move in time
    while (time_ns_ > begin_ns_) {
      const int64_t before_ns = time_ns_;
      if (row_ != kNone && standing < kMostStanding) {
        follow_device();
      } else if (thread_ != kNone) {
        follow_host();
      } else {
        put(SliceId::none(), BreakdownPart::kOther, begin_ns_);
      }
      if (standing == kMostStanding) leave_device();
      standing = time_ns_ == before_ns ? standing + 1 : 0;
    }
  }

 private:
  // The thread of the steps' annotations; else the one whose last slice ends last.
  [[nodiscard]] size_t find_main_thread() const {
    const auto& slices = trace_.slices();
    size_t last = kNone;
    int64_t last_end_ns = INT64_MIN;
    for (const Lane& lane : trace_.lanes()) {
      const size_t thread = thread_of(lane);
      if (thread == kNone || lane.count == 0) continue;
      for (uint32_t i = lane.first.value; i < lane.end(); ++i) {
        if (slices.category[i] == Category::kUserAnnotation &&
            names_.is(slices.name[i], kStepName)) {
          return thread;
        }
      }
      const int64_t end_ns = slices.end_ns[lane.end() - 1];
      if (end_ns > last_end_ns) last = thread, last_end_ns = end_ns;
    }
    return last;
  }

  // Visits the part from `from_ns` to the present time of the walk, which goes on at `from_ns`.
  void put(SliceId slice, BreakdownPart kind, int64_t from_ns) {
    from_ns = std::max(from_ns, begin_ns_);
    if (from_ns >= time_ns_) return;
    visit_({slice, kind, {from_ns, time_ns_}});
    time_ns_ = from_ns;
  }

  // Of the last rows of the streams that ended by `time_ns`, the latest one that `fits` accepts.
  template <typename Fits>
  size_t last_ended(int64_t time_ns, Fits fits) {
    size_t best = kNone;
    for (StreamCursor& stream : streams_) {
      const size_t row = stream.ended_by(time_ns);
      if (row == kNone || !fits(table_.rows[row], stream.device())) continue;
      if (best == kNone || table_.rows[row].interval.end_ns > table_.rows[best].interval.end_ns) {
        best = row;
      }
    }
    return best;
  }

  void follow_device() {
    const DeviceWork& work = table_.rows[row_];
    const int64_t begin_ns = work.interval.begin_ns;
    put(work.slice, part_of(work), begin_ns);
    if (time_ns_ <= begin_ns_) return;
    const size_t before = released_by(row_);
    if (before == kNone && !work.launch) return leave_device();
    if (before == kNone) {
      put(work.slice, BreakdownPart::kLaunchDelay,
          std::min(interval_of(trace_, work.launch).end_ns, begin_ns));
    } else {
      put(work.slice, BreakdownPart::kDeviceWait, table_.rows[before].interval.end_ns);
    }
    row_ = before;
    if (before == kNone) {
      thread_ = thread_of(trace_.lanes()[trace_.slices().lane[work.launch.value].value]);
    }
    if (thread_ == kNone) thread_ = main_thread_;
  }

  // Goes on with what the main thread did, because the work has no cause in the trace.
  void leave_device() {
    row_ = kNone;
    thread_ = main_thread_;
  }

  // The index of its track; kNone where that is no thread.
  [[nodiscard]] size_t thread_of(const Lane& lane) const {
    return is_thread_[lane.track.value] ? lane.track.value : kNone;
  }

  [[nodiscard]] ThreadMoment moment_of(size_t thread) {
    return cursors_.try_emplace(thread, trace_, trace_.tracks()[thread])
        .first->second.before(time_ns_);
  }

  [[nodiscard]] const DeviceStream& stream_of(size_t row) const {
    return *std::prev(std::ranges::upper_bound(table_.streams, row, {}, &DeviceStream::first));
  }

  // The work whose end let this one begin; kNone if that was its launch.
  [[nodiscard]] size_t released_by(size_t row) {
    const DeviceWork& work = table_.rows[row];
    int64_t launched_ns = INT64_MIN;
    if (work.launch) {
      const Interval call = interval_of(trace_, work.launch);
      const StringId name = trace_.slices().name[work.launch.value];
      const bool waits = name && calls_[name.value] == WaitingCall::kCopies &&
                         call.end_ns > work.interval.begin_ns;
      // A call that waits for its copy waits for all that the copy waits for.
      launched_ns = waits ? call.begin_ns : std::min(call.end_ns, work.interval.begin_ns);
    }
    size_t before = row_before(row);
    if (before != kNone && table_.rows[before].interval.end_ns > launched_ns) {
      launched_ns = table_.rows[before].interval.end_ns;
    } else {
      before = kNone;
    }
    const size_t other = released_elsewhere(row, launched_ns);
    return other == kNone ? before : other;
  }

  // The row before it on the stream, if that had ended when this one began.
  [[nodiscard]] size_t row_before(size_t row) const {
    if (row == stream_of(row).first) return kNone;
    const bool had_ended =
        table_.rows[row - 1].interval.end_ns <= table_.rows[row].interval.begin_ns;
    return had_ended ? row - 1 : kNone;
  }

  // The last work of another stream of the device that ended after `after_ns` and before this one
  // began, if it was launched earlier.
  [[nodiscard]] size_t released_elsewhere(size_t row, int64_t after_ns) {
    const DeviceWork& work = table_.rows[row];
    if (!work.launch || streams_.size() == 1) return kNone;
    const int64_t launched_ns = interval_of(trace_, work.launch).begin_ns;
    const int32_t device = stream_of(row).device;
    return last_ended(work.interval.begin_ns, [&](const DeviceWork& other, int32_t of_device) {
      return of_device == device && other.interval.end_ns > after_ns && other.launch &&
             interval_of(trace_, other.launch).begin_ns < launched_ns;
    });
  }

  void follow_host() {
    const ThreadMoment moment = moment_of(thread_);
    const SliceId work = moment.work;  // also where it runs Python, as a loader does
    if (!work) return pause(moment);
    const Category category = trace_.slices().category[work.value];
    const StringId name = trace_.slices().name[work.value];
    if (is_launch(category)) {
      const size_t awaited = awaited_by(work, name);
      if (awaited == kNone) return put(work, BreakdownPart::kRuntime, moment.since_ns);
      put(work, BreakdownPart::kRuntime, table_.rows[awaited].interval.end_ns);
      row_ = awaited;
      return;
    }
    if (names_.is(name, kDataLoaderName)) {
      return put(work, BreakdownPart::kDataLoader, moment.since_ns);
    }
    if (is_host_node(category) && names_.is(name, kCommunicationOpName)) {
      return put(work, BreakdownPart::kCommunication, moment.since_ns);
    }
    if (category == Category::kCpuOp) return put(work, BreakdownPart::kCpu, moment.since_ns);
    pause(moment);
  }

  // The GPU work whose end let the call return.
  size_t awaited_by(SliceId call, StringId name) {
    const WaitingCall kind = name ? calls_[name.value] : WaitingCall::kNone;
    const int64_t begin_ns = interval_of(trace_, call).begin_ns;
    const auto in_call = [&](const DeviceWork& work) {
      return work.interval.end_ns > begin_ns && work.interval.end_ns <= time_ns_ &&
             work.interval.begin_ns < time_ns_;
    };
    if (kind == WaitingCall::kSynchronises) {
      return last_ended(time_ns_, [&](const DeviceWork& work, int32_t) {
        return in_call(work) &&
               (!work.launch || interval_of(trace_, work.launch).begin_ns < begin_ns);
      });
    }
    if (kind != WaitingCall::kCopies) return kNone;
    const auto copy = std::ranges::lower_bound(copies_, std::pair(call, uint32_t{0}));
    if (copy == copies_.end() || copy->first != call) return kNone;
    return in_call(table_.rows[copy->second]) ? copy->second : kNone;
  }

  // Outside operators: either the thread itself worked (as kOther), or it waited for another
  // thread.
  void pause(const ThreadMoment& moment) {
    const int64_t since_ns = std::max(moment.since_ns, begin_ns_);
    const size_t own = thread_;
    int64_t until_ns = since_ns;
    if (time_ns_ - since_ns >= kLeastHandOverNs) {
      const auto look = [&](size_t i) {
        if (i == own) return until_ns;
        const ThreadMoment other = moment_of(i);
        const bool is_later = other.since_ns > until_ns;
        const bool is_before = other.since_ns == until_ns && thread_ != own && i < thread_;
        if ((is_later || is_before) && worked_for_this(other, moment)) {
          until_ns = other.since_ns;
          thread_ = i;
        }
        return until_ns;
      };
      living_.visit(since_ns, time_ns_, look, [&](size_t i) { cursors_.erase(i); });
    }
    put(moment.inside, BreakdownPart::kOther, until_ns);
  }

  [[nodiscard]] bool worked_for_this(const ThreadMoment& other, const ThreadMoment& pause) const {
    return worked_in_pause(trace_, names_, {other.ended, other.since_ns, bool(other.inside)},
                           pause.inside, {pause.since_ns, time_ns_},
                           std::max(pause.since_ns, begin_ns_));
  }

  const Trace& trace_;
  const NameKinds& names_;
  const DeviceWorkTable& table_;
  const std::function<void(const PathPart&)>& visit_;
  std::vector<WaitingCall> calls_;  // by name
  std::vector<bool> is_thread_;     // by track
  std::vector<StreamCursor> streams_;
  LivingThreads living_;
  std::unordered_map<size_t, ThreadCursor> cursors_;  // by thread; of those that were looked at
  std::vector<std::pair<SliceId, uint32_t>> copies_;  // by launch
  size_t main_thread_ = kNone;
  // The place of the walk: on a row of the GPU or, if that is kNone, on a thread.
  size_t row_ = kNone;
  size_t thread_ = kNone;
  int64_t time_ns_ = 0;
  int64_t begin_ns_ = 0;  // where the step begins
};

class Summary {
 public:
  explicit Summary(const Trace& trace) : trace_(trace), by_name_(trace.string_count()) {}

  void add(const PathPart& part) {
    const int64_t length_ns = part.interval.length_ns();
    path_.mean_ns[static_cast<size_t>(part.kind)] += length_ns;
    const StringId name = part.slice ? trace_.slices().name[part.slice.value] : StringId::none();
    if (name && is_of_the_slice(part.kind)) {
      PathName& row = by_name_[name.value];
      row.name = name;
      row.kind = part.kind;
      ++row.count;
      row.total_ns += length_ns;
    }
    if (path_.longest.size() == kLongest &&
        length_ns <= path_.longest.back().interval.length_ns()) {
      return;
    }
    const auto place =
        std::ranges::upper_bound(path_.longest, length_ns, std::greater(),
                                 [](const PathPart& part) { return part.interval.length_ns(); });
    path_.longest.insert(place, part)->name =
        part.slice ? trace_.slices().name[part.slice.value] : StringId::none();
    if (path_.longest.size() > kLongest) path_.longest.pop_back();
  }

  CriticalPath finish(size_t steps) {
    path_.steps = static_cast<int64_t>(steps);
    for (int64_t& sum_ns : path_.mean_ns) sum_ns /= path_.steps;
    std::erase_if(by_name_, [](const PathName& row) { return row.count == 0; });
    const size_t shown = std::min(kNames, by_name_.size());
    std::partial_sort(
        by_name_.begin(), by_name_.begin() + static_cast<std::ptrdiff_t>(shown), by_name_.end(),
        [](const PathName& left, const PathName& right) { return left.total_ns > right.total_ns; });
    path_.names.assign(by_name_.begin(), by_name_.begin() + static_cast<std::ptrdiff_t>(shown));
    return std::move(path_);
  }

 private:
  // A delay comes before its slice, so its time is not the slice's.
  static bool is_of_the_slice(BreakdownPart kind) {
    return kind != BreakdownPart::kDeviceWait && kind != BreakdownPart::kLaunchDelay &&
           kind != BreakdownPart::kOther;
  }

  const Trace& trace_;
  std::vector<PathName> by_name_;
  CriticalPath path_;
};

}  // namespace

void walk_critical_path(const Trace& trace, const NameKinds& names, const DeviceWorkTable& device,
                        const std::vector<Step>& steps,
                        const std::function<void(const PathPart&)>& visit) {
  PathWalker walker(trace, names, device, visit);
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) walker.step(*step);
}

std::optional<CriticalPath> critical_path(const Trace& trace, const NameKinds& names,
                                          const DeviceWorkTable& device,
                                          const std::vector<Step>& steps) {
  if (steps.empty()) return std::nullopt;
  Summary summary(trace);
  walk_critical_path(trace, names, device, steps, [&](const PathPart& part) { summary.add(part); });
  return summary.finish(steps.size());
}

}  // namespace redline::trace
