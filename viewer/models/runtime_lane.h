// The calls of a process into CUDA's or HIP's runtime, of all its threads in one lane: what the
// host asked of the GPU stands right above what the GPU did, also while the threads are folded.
#pragma once

#include <vector>

#include "viewer/models/session.h"

namespace redline::viewer {

class RuntimeLane {
 public:
  /// Calls inside of others, and those that begin before an earlier one ends, only have the time
  /// that these leave them. A call that they leave none, or that took none, is not drawn.
  RuntimeLane(const Session& session, uint32_t trace, trace::StringId pid);

  [[nodiscard]] uint32_t trace() const { return trace_; }
  [[nodiscard]] trace::StringId pid() const { return pid_; }
  [[nodiscard]] size_t call_count() const { return call_count_; }
  [[nodiscard]] size_t size() const { return calls_.size(); }  ///< calls that are drawn
  [[nodiscard]] LaneColumns columns() const { return {begin_ns_, end_ns_, classes_}; }
  [[nodiscard]] const LanePyramid& pyramid() const { return pyramid_; }
  /// The call at a time of the trace or, if there is none, one at most `tolerance_ns` away.
  [[nodiscard]] SliceRef call_at(int64_t time_ns, int64_t tolerance_ns) const;

 private:
  uint32_t trace_;
  trace::StringId pid_;
  size_t call_count_ = 0;
  std::vector<trace::SliceId> calls_;  ///< that are drawn
  std::vector<int64_t> begin_ns_;
  std::vector<int64_t> end_ns_;
  std::vector<uint8_t> classes_;
  LanePyramid pyramid_;
};

/// One for each process of the trace that has such calls.
[[nodiscard]] std::vector<RuntimeLane> runtime_lanes(const Session& session, uint32_t trace);

}  // namespace redline::viewer
