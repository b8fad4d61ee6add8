// Makes one Trace of the rows that the reader's threads collected.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "trace/model/issues.h"
#include "trace/model/model.h"
#include "trace/read/event_collector.h"
#include "trace/read/event_rows.h"
#include "trace/read/lanes.h"
#include "trace/read/text.h"

namespace redline::trace {

/// What a thread or several collected from a text.
struct CollectedEvents {
  std::deque<EventCollector> collectors;
  std::vector<std::unique_ptr<EventRows>> rows;  ///< chunk by chunk, in the order of the text
  uint32_t next_chunk = 0;  ///< the number of the next chunk; not all are among `rows`
};

/// What the text says beside its events.
struct TraceFrame {
  std::string path;
  Metadata metadata;
  int64_t base_ns = 0;  ///< to be added to all times
  std::shared_ptr<const Text> text;
};

/// Makes a trace of the events, which are used up. The same text gives the same trace, with the
/// same ids, whatever the number of threads.
class TraceBuilder {
 public:
  TraceBuilder(CollectedEvents events, unsigned threads)
      : events_(std::move(events)), threads_(threads) {}

  [[nodiscard]] std::shared_ptr<const Trace> build(TraceFrame frame, IssueLog issues);
  [[nodiscard]] static std::shared_ptr<const Trace> without_events(const Trace& trace);

 private:
  /// Names of a process or a thread, from metadata events.
  struct RowNames {
    StringId name;
    StringId label;
    std::optional<int64_t> sort_index;
  };
  void unite_ids();
  void unite_strings();
  void unite_tracks();
  void pair_all_edges(IssueLog& issues);
  template <typename Visit>
  void for_each_run(const Visit& visit) const;
  void find_runs();
  [[nodiscard]] std::vector<int64_t> ends_of_tracks() const;
  void name_tracks();
  void classify_tracks(PlacedTracks& placed) const;
  [[nodiscard]] std::vector<Instant> gather_instants(int64_t base_ns);
  [[nodiscard]] std::vector<Counter> gather_counters(int64_t base_ns);
  void count_events(Trace& trace) const;

  CollectedEvents events_;
  unsigned threads_;
  StringTable strings_;
  std::vector<std::vector<StringId>> string_of_;  ///< by collector, by its own id
  std::vector<std::vector<uint32_t>> track_of_;
  GatheredTracks gathered_;
  SliceRows paired_;  ///< slices made of "B" and "E" events, with the trace's ids
  std::unordered_map<StringId, RowNames> processes_;
  std::unordered_map<uint64_t, RowNames> thread_names_;
};

}  // namespace redline::trace
