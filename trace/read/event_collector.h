// From events to rows: one thread's part of reading a trace.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/free_memory.h"
#include "base/parallel.h"
#include "trace/model/id_slots.h"
#include "trace/model/string_table.h"
#include "trace/read/event_parser.h"
#include "trace/read/event_rows.h"
#include "trace/read/slice_rows.h"

namespace redline::trace {

/// Decodes the tokens of events and interns their strings and tracks. Each thread has its own
/// collector with ids of its own; TraceBuilder maps these to the ids of the trace.
class alignas(kApartBytes) EventCollector : public EventSink {
 public:
  /// A (pid, tid) pair that occurred.
  struct TrackKey {
    StringId pid;
    StringId tid;
    uint64_t first_offset = 0;
  };
  [[nodiscard]] static uint64_t hash_of(StringId pid, StringId tid) {
    const uint64_t mixed = (uint64_t{pid.value} << 32 | tid.value) * 0x9E3779B97F4A7C15;
    return mixed ^ mixed >> 32;
  }

  /// Events are added to `rows` from here on.
  void collect_into(EventRows& rows) {
    rows_ = &rows;
    slices_.begin_chunk(rows.chunk);
    last_slice_ = {};
  }

  void add(const RawEvent& event) override;

  [[nodiscard]] const StringTable& strings() const { return strings_; }
  [[nodiscard]] const std::vector<TrackKey>& tracks() const { return tracks_; }
  /// The slices, by index of tracks(); their names are ids of strings().
  [[nodiscard]] const SliceRows& slices() const { return slices_; }
  /// Offset at which each string occurred first, by id: with threads, the order of ids is random.
  [[nodiscard]] const std::vector<uint64_t>& first_offsets() const { return first_offsets_; }
  /// Frees what only add() needs.
  void close();
  // Free what is mapped to the ids of the trace.
  void forget_strings();
  void forget_tracks() { free_memory(tracks_); }
  void forget_runs() { slices_.forget_runs(); }

 private:
  void add_slice(const RawEvent& event);
  void add_edge(const RawEvent& event, bool is_begin);
  void add_flow(const RawEvent& event, bool is_start);
  [[nodiscard]] bool is_known_from_slice(const FlowEnd& end) const;
  void add_async_edge(const RawEvent& event, bool is_begin);
  void add_instant(const RawEvent& event, bool is_async);
  void add_counter(const RawEvent& event);
  void add_name(const RawEvent& event);

  StringId intern(std::string_view text, uint64_t offset);
  StringId intern_token(const RawEvent& event, std::string_view token);
  StringId name_of(const RawEvent& event);
  [[nodiscard]] const ShapeFacts& facts_of(const RawEvent& event);
  [[nodiscard]] Category category_of_event(const RawEvent& event, StringId name);
  [[nodiscard]] std::optional<int64_t> begin_of(const RawEvent& event);
  [[nodiscard]] std::optional<int64_t> duration_of(const RawEvent& event);
  [[nodiscard]] std::optional<int64_t> time_of(const RawEvent& event, std::string_view token);
  [[nodiscard]] uint32_t track_of(const RawEvent& event);
  [[nodiscard]] uint32_t known_track(const RawEvent& event);
  [[nodiscard]] uint32_t find_track(const RawEvent& event);
  [[nodiscard]] uint32_t async_track_of(const RawEvent& event);
  [[nodiscard]] uint32_t track_at(StringId pid, StringId tid, uint64_t offset);
  [[nodiscard]] std::optional<EdgeRow> edge_of(const RawEvent& event, bool is_begin);

  EventRows* rows_ = nullptr;
  SliceRows slices_;
  StringTable strings_;
  std::vector<uint64_t> first_offsets_;
  std::vector<bool> is_annotation_;  ///< by name: categories of old traces need it
  std::vector<StringId> next_name_;  ///< by name: what came after it last time, in a loop
  StringId last_name_;
  std::vector<TrackKey> tracks_;
  IdSlots track_slots_;  ///< by pid and tid

  ShapeFacts facts_;  ///< of the event that is being added, if it has no shape

  struct LastSlice {
    uint32_t track = UINT32_MAX;
    SliceRow row;
  };
  LastSlice last_slice_;

  // Events of a few tracks take turns, so those met last are tried first.
  struct RecentTrack {
    std::string pid;
    std::string tid;
    uint32_t track = UINT32_MAX;
  };
  std::array<RecentTrack, 4> recent_tracks_;
  size_t next_recent_ = 0;
};

}  // namespace redline::trace
