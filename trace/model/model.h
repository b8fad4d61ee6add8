// One training trace (one process, usually one rank) as columns.
//
// A 1 GB trace has 5 million events, and analysis and painting each read two or three fields of all
// of them. So slices are stored as columns (structure of arrays, about 40 bytes a slice); an
// event's args stay in the file's text and are parsed on demand (read/args.h). A loaded Trace never
// changes, so any number of threads may read it without a lock. Times are unix nanoseconds.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "trace/model/ids.h"
#include "trace/model/issues.h"
#include "trace/model/string_table.h"

namespace redline::trace {

class ColumnMemory;
class Text;

/// What a slice is, from its "cat". Categories that we do not know are kOther.
enum class Category : uint8_t {
  kCpuOp,
  kUserAnnotation,
  kGpuUserAnnotation,
  kPythonFunction,
  kRuntime,
  kDriver,
  kKernel,
  kMemcpy,
  kMemset,
  kSync,
  kOverhead,
  kSpan,
  kOther,
};

enum class TrackKind : uint8_t { kCpuThread, kGpuStream, kOther };

/// A thread, a GPU stream or any other (pid, tid) pair. Its lanes are contiguous, by depth.
struct Track {
  StringId pid;  ///< as in the file, number or text
  StringId tid;
  StringId process_name;  ///< from metadata events; may be none
  StringId process_label;
  StringId thread_name;
  TrackKind kind = TrackKind::kOther;
  int32_t device = -1;  ///< GPU index of a kGpuStream track
  int64_t stream = -1;
  int64_t sort_index = 0;
  LaneId first_lane;
  uint32_t lane_count = 0;
};

/// One depth of a track: slices [first, first + count), sorted by begin. They never overlap, so
/// they are sorted by end, too. A slice that overlaps an earlier one without being inside it gets a
/// lane of its own further down.
struct Lane {
  TrackId track;
  uint32_t depth = 0;
  SliceId first;
  uint32_t count = 0;

  [[nodiscard]] uint32_t end() const { return first.value + count; }
};

/// All columns have one entry a slice, ordered by lane, then by begin.
struct Slices {
  std::span<const int64_t> begin_ns;  ///< unix time
  std::span<const int64_t> end_ns;
  std::span<const StringId> name;
  std::span<const Category> category;
  std::span<const LaneId> lane;
  std::span<const uint32_t> correlation;  ///< 0: none
  std::span<const uint64_t> text_offset;  ///< of the event's '{' in the text
};

enum class FlowKind : uint8_t { kLaunch, kForwardBackward, kOther };

/// An arrow between two slices: launch to kernel ("ac2g"), forward to backward ("fwdbwd").
struct Flow {
  SliceId from;
  SliceId to;
  FlowKind kind = FlowKind::kOther;
};

struct Instant {
  int64_t time_ns = 0;
  StringId name;
  TrackId track;  ///< none of a thread without slices
  StringId pid;
  StringId tid;
  uint64_t text_offset = 0;
};

/// One series of "C" events.
struct Counter {
  StringId pid;
  StringId name;
  std::vector<int64_t> time_ns;
  std::vector<double> value;
};

/// How many events of one phase ("X", "i", …) the file has; phase "" counts those without a valid
/// one.
struct PhaseCount {
  std::string phase;
  uint64_t count = 0;
};

/// What the file says of its process ("distributedInfo", "deviceProperties" and so on).
struct Metadata {
  std::optional<int> rank;
  std::optional<int> world_size;
  std::string backend;
  std::string host;
  std::string device_properties_json;  ///< the JSON array as it stands in the file, or empty
  std::string top_level_json;          ///< one object with every other top-level key
};

class Trace {
 public:
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const Metadata& metadata() const { return metadata_; }
  [[nodiscard]] const Slices& slices() const { return slices_; }
  [[nodiscard]] size_t slice_count() const { return slices_.begin_ns.size(); }
  [[nodiscard]] std::span<const Track> tracks() const { return tracks_; }
  [[nodiscard]] std::span<const Lane> lanes() const { return lanes_; }
  [[nodiscard]] std::span<const Flow> flows() const { return flows_; }  ///< sorted by from
  [[nodiscard]] std::span<const Instant> instants() const { return instants_; }
  [[nodiscard]] std::span<const Counter> counters() const { return counters_; }
  [[nodiscard]] std::span<const LoadIssue> issues() const { return issues_; }
  [[nodiscard]] uint64_t event_count() const { return event_count_; }  ///< of every phase
  [[nodiscard]] std::span<const PhaseCount> phase_counts() const { return phase_counts_; }

  [[nodiscard]] const StringTable& strings() const { return strings_; }
  [[nodiscard]] size_t string_count() const { return strings_.size(); }
  [[nodiscard]] std::string_view string(StringId id) const { return strings_.at(id); }
  /// The id of `text`, none where no event has it.
  [[nodiscard]] StringId find_string(std::string_view text) const { return strings_.find(text); }

  /// First begin and last end over all slices, in unix ns; 0, 0 for an empty trace.
  [[nodiscard]] int64_t begin_ns() const { return begin_ns_; }
  [[nodiscard]] int64_t end_ns() const { return end_ns_; }

  /// The file's text, which has each event as it stands there (read/text_cursor.h).
  [[nodiscard]] const Text& text() const { return *text_; }

 private:
  friend class TraceBuilder;
  friend class CacheTables;
  friend class TraceCache;

  std::string path_;
  Metadata metadata_;
  Slices slices_;
  std::shared_ptr<const ColumnMemory> columns_;  ///< owns what slices_ points into
  std::vector<Track> tracks_;
  std::vector<Lane> lanes_;
  std::vector<Flow> flows_;
  std::vector<Instant> instants_;
  std::vector<Counter> counters_;
  std::vector<LoadIssue> issues_;
  std::vector<PhaseCount> phase_counts_;
  StringTable strings_;
  uint64_t event_count_ = 0;
  int64_t begin_ns_ = 0;
  int64_t end_ns_ = 0;
  std::shared_ptr<const Text> text_;  ///< of the file, where args stay
  mutable std::jthread storing_;  ///< writes the cache; the last member, so joined before the rest
};

}  // namespace redline::trace
