// Tracks that are computed and not in the file: what a GPU did at each moment, counters, memory,
// queues. They come from the report, which takes longer than reading the trace, so they are added
// to the lanes when the report is ready.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trace/report/report.h"
#include "viewer/models/graph.h"
#include "viewer/models/lane_pyramid.h"
#include "viewer/models/marks_lane.h"
#include "viewer/models/runtime_lane.h"
#include "viewer/models/tracks.h"

namespace redline::viewer {

/// What one GPU did: it computed, communicated, did both, or copied; gaps are idle time. Times are
/// those of the trace.
class DeviceLane {
 public:
  DeviceLane(uint32_t trace, const trace::GpuUse& gpu, const trace::DeviceWorkTable& table,
             Interval window);

  [[nodiscard]] uint32_t trace() const { return trace_; }
  [[nodiscard]] int32_t device() const { return device_; }
  /// The share of the steps in which a kernel ran: the "busy" of the report.
  [[nodiscard]] double busy() const { return busy_; }
  [[nodiscard]] LaneColumns columns() const { return {begin_ns_, end_ns_, classes_}; }
  [[nodiscard]] const LanePyramid& pyramid() const { return pyramid_; }
  /// The idle time around a time of the trace, between two pieces of work.
  [[nodiscard]] std::optional<Interval> gap_at(int64_t time_ns) const;
  /// "compute 3.2 ms", "idle 812 ns" at a time of the trace; empty outside the recording.
  [[nodiscard]] std::string text_at(int64_t time_ns) const;

 private:
  uint32_t trace_;
  int32_t device_;
  double busy_;
  std::vector<int64_t> begin_ns_;
  std::vector<int64_t> end_ns_;
  std::vector<uint8_t> classes_;
  LanePyramid pyramid_;
};

struct GraphTrack {
  uint32_t trace = 0;
  int32_t device = -1;  ///< -1: the host
  std::string title;    ///< "GPU memory"
  std::string note;     ///< "allocated, peak 7.4 GiB"
  Graph graph;          ///< in times of the trace
};

struct DerivedTracks {
  std::vector<RuntimeLane> runtimes;
  std::vector<MarksLane> marks;
  std::vector<DeviceLane> devices;
  std::vector<GraphTrack> graphs;
};

[[nodiscard]] DerivedTracks derive_tracks(const Session& session, const trace::Report& report);

/// "CUDA runtime", "HIP runtime"; "runtime" of any other maker's.
[[nodiscard]] std::string runtime_name(const trace::Trace& trace);

/// Tracks of a process or GPU are added to its group; counters of the host become a group of their
/// own, one for each trace.
void add_derived(std::vector<TrackGroup>& groups, const Session& session,
                 const DerivedTracks& derived);

}  // namespace redline::viewer
