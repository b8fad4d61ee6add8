// The left column: processes of each rank, and in them threads and streams, in reading order.
#pragma once

#include <string>
#include <vector>

#include "viewer/models/session.h"

namespace redline::viewer {

struct TrackItem {
  trace::TrackId track;
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
  bool background = false;  ///< nothing but the profiler's own spans
};

/// By trace, host before GPUs before the rest; the main thread first.
[[nodiscard]] std::vector<TrackGroup> track_groups(const Session& session);

/// Names of the GPUs by index, from the JSON text of "deviceProperties"; empty where unknown.
[[nodiscard]] std::vector<std::string> gpu_names(const std::string& device_properties_json);

}  // namespace redline::viewer
