// The chart of a whole run as values: the rate over time, and what happened when. The page of a
// report and the viewer paint the same chart.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/run/verdict.h"

namespace redline::trace {

struct RunChartPoint {
  int64_t time_ns = 0;
  int64_t step = 0;
  double rate = 0;
};

struct RunChartMark {
  enum class Kind : uint8_t {
    kFinding,   ///< from here on a finding holds
    kSlowStep,  ///< one of the worst
    kEvent,     ///< a mark of the log
  };
  Kind kind = Kind::kEvent;
  int64_t time_ns = 0;
  size_t number = 0;                       ///< of a finding, from 1 on
  LogMarkKind event = LogMarkKind::kNote;  ///< of an event
  std::string words;
};

struct RunChart {
  int64_t begin_ns = 0;  ///< unix time of the first point
  int64_t end_ns = 0;
  int64_t steps = 0;
  const char* unit = "";  ///< of the rate: "samples/s" if the log has samples, else "steps/s"
  double highest = 0;
  std::vector<RunChartPoint> points;  ///< by time; each holds until the next
  std::vector<RunChartMark> marks;    ///< findings, then slow steps, then events

  /// Where a time stands between begin (0) and end (1).
  [[nodiscard]] double share_of(int64_t time_ns) const;
};

[[nodiscard]] RunChart run_chart(const RunVerdict& verdict);

}  // namespace redline::trace
