// The traces of one window on one time axis, with all that painting needs computed once.
//
// A Session never changes once it is built: the loading thread makes it and the window reads it, so
// neither needs a lock. To move a trace's times (clocks that differ), a new Session is made.
#pragma once

#include <compare>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trace/model/model.h"
#include "viewer/models/lane_pyramid.h"
#include "viewer/models/rank_outline.h"
#include "viewer/models/time_axis.h"

namespace redline::viewer {

/// A slice of one of the session's traces.
struct SliceRef {
  uint32_t trace = 0;
  trace::SliceId slice;

  explicit operator bool() const { return static_cast<bool>(slice); }
  auto operator<=>(const SliceRef&) const = default;
};

/// Some time of one of the session's traces, in that trace's unix time: it stays the same when
/// clocks are corrected. A moment ends where it begins.
struct TimeRef {
  uint32_t trace = 0;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;

  bool operator==(const TimeRef&) const = default;
};

/// A step that the trace marks ("ProfilerStep#n"), as trace::annotated_steps() finds them.
struct Step {
  std::string name;
  TimeRange range;
  trace::SliceId slice;
};

/// A trace of a session that is made. Without `is_loaded` the trace has no events
/// (trace::without_events()).
struct SessionSource {
  std::shared_ptr<const trace::Trace> trace;
  bool is_loaded = true;
};

struct SessionTrace {
  std::shared_ptr<const trace::Trace> trace;
  bool is_loaded = true;
  bool is_merged = false;  ///< of several ranks (`redline merge`): its processes bear theirs
  std::shared_ptr<const RankOutline> outline;  ///< of one that is not loaded, once it is known
  int64_t origin_ns = 0;                       ///< unix time that is 0 on the session's axis
  std::vector<uint8_t> classes;
  std::vector<LanePyramid> pyramids;  ///< by LaneId
  std::vector<Step> steps;            ///< by begin, in session time
  std::string title;                  ///< "rank 0" ("rank 0 · 2" of a second trace); of a file of
                                      ///< no rank or of several its name; empty if it is alone

  [[nodiscard]] LaneColumns lane_columns(const trace::Lane& lane) const;
  /// From its first slice to its last, in unix time; nullopt if nothing is known of it.
  [[nodiscard]] std::optional<TimeRange> work() const;
  /// The axis in this trace's own unix time.
  [[nodiscard]] TimeAxis local(TimeAxis axis) const {
    axis.begin_ns = saturating_sum(axis.begin_ns, origin_ns);
    return axis;
  }
};

class Session {
 public:
  /// Traces whose times overlap stand on one unix clock. If they do not overlap (ranks recorded at
  /// different hours would be tiny on a long empty axis), every trace starts at 0, and
  /// aligned_at_start() is true.
  ///
  /// The first `before_count` traces may be another run, to compare the others with: then each
  /// trace's first whole step begins at 0.
  explicit Session(std::vector<std::shared_ptr<const trace::Trace>> traces,
                   size_t before_count = 0);

  /// Ranks of one run that need not all be loaded. Those that are not stand where the loaded ones
  /// do, until their outlines are known.
  [[nodiscard]] static Session of_ranks(const std::vector<SessionSource>& sources);

  [[nodiscard]] const std::vector<SessionTrace>& traces() const { return traces_; }
  [[nodiscard]] size_t loaded_count() const;
  [[nodiscard]] bool is_partial() const { return loaded_count() < traces_.size(); }
  [[nodiscard]] TimeRange range() const { return range_; }  ///< first begin to last end
  [[nodiscard]] size_t before_count() const { return before_count_; }
  [[nodiscard]] bool aligned_at_start() const { return aligned_at_start_; }
  /// The index of a trace in its own run. Traces of two runs with the same index belong side by
  /// side.
  [[nodiscard]] uint32_t place_of(uint32_t trace) const {
    return trace < before_count_ ? trace : trace - static_cast<uint32_t>(before_count_);
  }
  [[nodiscard]] std::string name() const;  ///< for the title: the file, or how many ranks

  [[nodiscard]] uint64_t event_count() const;
  [[nodiscard]] uint64_t lost_count() const;      ///< events skipped while reading
  [[nodiscard]] uint64_t repaired_count() const;  ///< events repaired while reading
  [[nodiscard]] size_t lane_count() const;
  /// Whether a file was written since it was read; its arguments are not known then.
  [[nodiscard]] bool is_changed() const;

  [[nodiscard]] TimeRange range_of(SliceRef ref) const;
  [[nodiscard]] TimeRange range_of(TimeRef ref) const;
  [[nodiscard]] std::string_view name_of(SliceRef ref) const;
  [[nodiscard]] const trace::Lane& lane_of(SliceRef ref) const;

  /// A trace of this session that is loaded now, ready to be put into it.
  [[nodiscard]] SessionTrace prepared(uint32_t trace,
                                      std::shared_ptr<const trace::Trace> loaded) const;
  /// The same session with these traces loaded.
  [[nodiscard]] Session with(const std::map<uint32_t, SessionTrace>& loaded) const;
  /// The same session with outlines of traces that are not loaded; null where there is none. The
  /// axis may begin elsewhere then.
  [[nodiscard]] Session outlined(
      const std::vector<std::shared_ptr<const RankOutline>>& outlines) const;

  /// The same session with the times of each trace moved by `shift_ns`.
  [[nodiscard]] Session shifted(const std::vector<int64_t>& shift_ns) const;

  /// The steps of the first rank that has any, in all its recordings. Empty if several of its
  /// recordings start at 0, so that a time stands for a step of each.
  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }

 private:
  void fill(const std::vector<SessionSource>& sources);
  void measure();
  void find_marked_steps();

  std::vector<SessionTrace> traces_;
  TimeRange range_;
  std::vector<Step> steps_;
  size_t before_count_ = 0;
  bool aligned_at_start_ = false;
};

/// `longest` becomes `call` if that takes longer, or if there was none.
void keep_longer(const Session& session, SliceRef& longest, SliceRef call);

/// Whether a file of both holds times that it held before: it was not recorded anew.
[[nodiscard]] bool shares_recordings(const Session& before, const Session& after);

/// The time that the window shows first: all of a recording of one or two steps if names can be
/// read then, else the first complete step, or that half or quarter of it in which more slices are
/// wide enough for their names.
[[nodiscard]] TimeRange first_view(const Session& session, int width);

}  // namespace redline::viewer
