// The points in time of a process in one row: NVTX marks, memory that ran out, errors of a GPU.
// Samples of memory are drawn as a graph instead, and the profiler's own marks not at all.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "viewer/models/session.h"

namespace redline::viewer {

/// A mark in a picture: its column of pixels, and which mark it is.
struct DrawnMark {
  int column = 0;
  size_t mark = 0;

  bool operator==(const DrawnMark&) const = default;
};

class MarksLane {
 public:
  /// `marks` by time, as those of a trace are.
  MarksLane(uint32_t trace, trace::StringId pid, std::vector<trace::Instant> marks);

  [[nodiscard]] uint32_t trace() const { return trace_; }
  [[nodiscard]] trace::StringId pid() const { return pid_; }
  [[nodiscard]] size_t size() const { return marks_.size(); }
  [[nodiscard]] trace::StringId name(size_t mark) const { return marks_[mark].name; }
  /// The first mark of each column. The axis is in the trace's own time.
  [[nodiscard]] std::vector<DrawnMark> draw(const TimeAxis& axis) const;
  /// The mark nearest to a time of the trace, at most `tolerance_ns` away.
  [[nodiscard]] std::optional<size_t> mark_at(int64_t time_ns, int64_t tolerance_ns) const;
  /// Name, time on the session's axis, and arguments, a line each.
  [[nodiscard]] std::string text_of(const Session& session, size_t mark) const;

 private:
  uint32_t trace_;
  trace::StringId pid_;
  std::vector<trace::Instant> marks_;
};

/// One for each process of the trace that has marks.
[[nodiscard]] std::vector<MarksLane> marks_lanes(const Session& session, uint32_t trace);

}  // namespace redline::viewer
