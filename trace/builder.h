// From events to a Trace: rows gathered by track while the text is read, then sorted into lanes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/event_parser.h"
#include "trace/event_rows.h"
#include "trace/issues.h"
#include "trace/model.h"
#include "trace/text.h"

namespace redline::trace {

class TraceBuilder : public EventSink {
 public:
  explicit TraceBuilder(IssueLog& issues) : issues_(issues) {}

  void add(const RawEvent& event) override;

  /// The finished trace, all times moved by `base_ns`; the builder is empty after it.
  [[nodiscard]] std::shared_ptr<const Trace> finish(std::string path, Metadata metadata,
                                                    int64_t base_ns,
                                                    std::shared_ptr<const Text> text);

 private:
  /// Names of a process (by pid) or a thread (by track key), from metadata events.
  struct RowInfo {
    StringId name;
    StringId label;
    std::optional<int64_t> sort_index;
  };
  struct PendingInstant {
    Instant instant;
    uint32_t track = UINT32_MAX;
  };

  void add_slice(const RawEvent& event);
  void add_edge(const RawEvent& event, bool is_begin);
  void add_flow(const RawEvent& event, bool is_start);
  void add_instant(const RawEvent& event);
  void add_counter(const RawEvent& event);
  void add_row_info(const RawEvent& event);

  [[nodiscard]] StringId intern(const RawEvent& event, std::string_view token);
  [[nodiscard]] StringId name_of(const RawEvent& event);
  [[nodiscard]] std::optional<int64_t> time_of(const RawEvent& event, std::string_view token);
  [[nodiscard]] uint32_t track_of(const RawEvent& event);

  void name_tracks();
  void move_times(int64_t base_ns);
  void finish_instants(Trace& trace, const std::vector<TrackId>& track_of_rows) const;

  IssueLog& issues_;
  StringTable strings_;
  std::vector<TrackRows> tracks_;
  std::unordered_map<uint64_t, uint32_t> track_index_;  // by track key
  std::vector<PendingInstant> instants_;
  std::vector<Counter> counters_;
  std::unordered_map<uint64_t, size_t> counter_index_;  // by pid and name
  std::vector<FlowEnd> flow_ends_;
  std::unordered_map<StringId, RowInfo> processes_;
  std::unordered_map<uint64_t, RowInfo> threads_;
  uint64_t event_count_ = 0;

  // Neighbouring events mostly share their track, so the last one is tried first.
  std::string last_pid_;
  std::string last_tid_;
  uint32_t last_track_ = UINT32_MAX;
};

}  // namespace redline::trace
