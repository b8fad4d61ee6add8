// The left column: processes of each rank, and in them threads and streams, in reading order.
#pragma once

#include <string>
#include <vector>

#include "viewer/models/session.h"

namespace redline::viewer {

struct TrackItem {
  enum class Kind : uint8_t { kSlices, kDevice, kGraph };

  Kind kind = Kind::kSlices;
  trace::TrackId track;  ///< of kSlices
  uint32_t index = 0;    ///< of the others: in DerivedTracks
  uint32_t lanes = 1;
  std::string title;  ///< "thread 24722", "stream 7"
  std::string note;   ///< "main · python"
  bool main = false;  ///< where the training loop runs, or a GPU's stream
};

/// A process, or a GPU, of one trace. Tracks without slices are left out, and so are groups
/// without tracks.
struct TrackGroup {
  uint32_t trace = 0;
  std::string title;  ///< "rank 0 · CPU", "rank 0 · GPU 0 · Tesla V100"
  std::string note;   ///< "pid 24722"
  std::vector<TrackItem> tracks;
  int32_t device = -1;       ///< of a GPU's group
  bool background = false;   ///< nothing but the profiler's own spans
  bool only_graphs = false;  ///< nothing but counters
};

/// By trace, host before GPUs before the rest; the main thread first. Of two runs each group of the
/// one stands above that of the other.
[[nodiscard]] std::vector<TrackGroup> track_groups(const Session& session);

/// Names of the GPUs by index, from the JSON text of "deviceProperties"; empty where unknown.
[[nodiscard]] std::vector<std::string> gpu_names(const std::string& device_properties_json);

}  // namespace redline::viewer
