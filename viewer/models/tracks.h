// The left column: the processes of each rank, in them threads and streams, in reading order; and
// what the user has changed about them.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "viewer/models/session.h"

namespace redline::viewer {

struct TrackItem {
  enum class Kind : uint8_t { kSlices, kRuntime, kMarks, kDevice, kGraph };

  Kind kind = Kind::kSlices;
  trace::TrackId track;  ///< of kSlices
  uint32_t index = 0;    ///< of the other kinds: index in DerivedTracks
  uint32_t lanes = 1;
  std::string title;  ///< "thread 24722", "stream 7"
  std::string note;   ///< "main · python", "autograd"
  int32_t same = -1;  ///< how many of its title and kind the group had before; -1: not numbered
  bool main = false;  ///< the thread in which the training loop runs, or a GPU's stream
};

/// A process, or a GPU, of one trace. Tracks without slices are left out, and so are groups
/// without tracks. A trace that is not loaded is one group without tracks, always folded.
struct TrackGroup {
  uint32_t trace = 0;
  std::string title;  ///< "rank 0 · CPU", "rank 0 · GPU 0"
  std::string note;   ///< "pid 24722", "Tesla V100"
  std::vector<TrackItem> tracks;
  /// Of a GPU's group, once it is known: "busy 55.5 %"; of a trace that is not loaded: its state.
  std::string busy;
  uint64_t slices = 0;       ///< in all its tracks
  int32_t device = -1;       ///< the GPU of a GPU's group
  bool background = false;   ///< nothing but the profiler's own spans
  bool only_graphs = false;  ///< nothing but counters
  bool is_loaded = true;
};

/// "rank 0 · GPU 1": of a file of `redline merge` the rank and the GPU as its processes name them.
[[nodiscard]] std::string gpu_title(const Session& session, uint32_t trace, int32_t device);

/// Whose a counter is.
struct CounterOwner {
  std::string rank;     ///< empty unless the file is a merged one
  int32_t device = -1;  ///< as the trace's tracks have it; -1: of no GPU, or nobody knows of which
};

/// Whose a counter of the process `pid` is that names the GPU `device`, or none (-1). In a file of
/// `redline merge` each rank has a GPU 0 of its own.
[[nodiscard]] CounterOwner counter_owner(const Session& session, uint32_t trace,
                                         trace::StringId pid, int32_t device);

/// What stands at the right end of a group's header.
[[nodiscard]] inline const std::string& header_note(const TrackGroup& group) {
  return group.busy.empty() ? group.note : group.busy;
}

/// What a folded group holds: "3 tracks · 12,345 slices".
[[nodiscard]] std::string contents_of(const TrackGroup& group);

/// The groups by trace: the host, then GPUs, then the rest; the main thread first. Of two runs,
/// each group of the first stands above the same group of the second.
[[nodiscard]] std::vector<TrackGroup> track_groups(const Session& session);

/// What the user has folded, hidden, pinned and moved. Groups and tracks stand here by keys that
/// stay the same when tracks are added later, and from one run of the viewer to the next.
struct Arrangement {
  std::set<std::string> folded;
  std::set<std::string> hidden;
  std::vector<std::string> pinned;  ///< in the order in which they were pinned
  std::vector<std::string> order;   ///< of all groups and tracks; empty: as they come

  bool operator==(const Arrangement&) const = default;
};

}  // namespace redline::viewer
