// Writes a trace as lines of text, so that two traces can be compared and the first difference
// shown.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "trace/emit/json_scan.h"
#include "trace/model/model.h"
#include "trace/read/text_cursor.h"

namespace redline::testing {

using trace::Counter;
using trace::Flow;
using trace::Instant;
using trace::SliceId;
using trace::StringId;
using trace::Trace;
using trace::Track;
using Lines = std::vector<std::string>;

inline std::string string_of(const Trace& trace, StringId id) {
  return std::string(trace.string(id));
}

inline Lines tracks_of(const Trace& trace) {
  Lines lines;
  for (const Track& track : trace.tracks()) {
    lines.push_back(
        string_of(trace, track.pid) + "|" + string_of(trace, track.tid) + "|" +
        string_of(trace, track.process_name) + "|" + string_of(trace, track.process_label) + "|" +
        string_of(trace, track.thread_name) + "|" + std::to_string(static_cast<int>(track.kind)) +
        "|" + std::to_string(track.device) + "|" + std::to_string(track.stream) + "|" +
        std::to_string(track.sort_index) + "|" + std::to_string(track.first_lane.value) + "|" +
        std::to_string(track.lane_count));
  }
  return lines;
}

inline Lines slices_of(const Trace& trace) {
  Lines lines;
  const auto& slices = trace.slices();
  for (uint32_t i = 0; i < trace.slice_count(); ++i) {
    lines.push_back(string_of(trace, slices.name[i]) + "|" + std::to_string(slices.begin_ns[i]) +
                    "|" + std::to_string(slices.end_ns[i]) + "|" +
                    std::to_string(static_cast<int>(slices.category[i])) + "|" +
                    std::to_string(slices.lane[i].value) + "|" +
                    std::to_string(slices.correlation[i]));
  }
  return lines;
}

inline Lines args_of(const Trace& trace) {
  Lines lines;
  for (uint32_t i = 0; i < trace.slice_count(); ++i) {
    const std::string_view args = redline::trace::find_value(event_text(trace, SliceId{i}), "args");
    lines.emplace_back(args.empty() ? "{}" : args);
  }
  for (const Instant& instant : trace.instants()) {
    lines.emplace_back(redline::trace::find_value(event_text(trace, instant.text_offset), "args"));
  }
  return lines;
}

inline Lines flows_of(const Trace& trace) {
  Lines lines;
  for (const Flow& flow : trace.flows()) {
    lines.push_back(std::to_string(flow.from.value) + ">" + std::to_string(flow.to.value) + " " +
                    std::to_string(static_cast<int>(flow.kind)));
  }
  return lines;
}

inline Lines instants_of(const Trace& trace) {
  Lines lines;
  for (const Instant& instant : trace.instants()) {
    lines.push_back(string_of(trace, instant.name) + "|" + std::to_string(instant.time_ns) + "|" +
                    std::to_string(instant.track.value) + "|" + string_of(trace, instant.pid) +
                    "|" + string_of(trace, instant.tid));
  }
  return lines;
}

inline Lines counters_of(const Trace& trace) {
  Lines lines;
  for (const Counter& counter : trace.counters()) {
    for (size_t i = 0; i < counter.time_ns.size(); ++i) {
      lines.push_back(string_of(trace, counter.pid) + "|" + string_of(trace, counter.name) + "|" +
                      std::to_string(counter.time_ns[i]) + "|" +
                      ::testing::PrintToString(counter.value[i]));
    }
  }
  return lines;
}

// The first difference; "" if there is none. gtest's own output would have megabytes.
inline std::string first_difference(const Lines& before, const Lines& after) {
  for (size_t i = 0; i < std::max(before.size(), after.size()); ++i) {
    const std::string left = i < before.size() ? before[i] : "(absent)";
    const std::string right = i < after.size() ? after[i] : "(absent)";
    if (left != right) return std::to_string(i) + ": " + left + "\n became " + right;
  }
  return "";
}

inline void expect_equal(const Trace& before, const Trace& after) {
  EXPECT_EQ(first_difference(tracks_of(before), tracks_of(after)), "");
  EXPECT_EQ(first_difference(slices_of(before), slices_of(after)), "");
  EXPECT_EQ(first_difference(args_of(before), args_of(after)), "");
  EXPECT_EQ(first_difference(flows_of(before), flows_of(after)), "");
  EXPECT_EQ(first_difference(instants_of(before), instants_of(after)), "");
  EXPECT_EQ(first_difference(counters_of(before), counters_of(after)), "");
  EXPECT_EQ(before.metadata().rank, after.metadata().rank);
  EXPECT_EQ(before.metadata().world_size, after.metadata().world_size);
  EXPECT_EQ(before.metadata().device_properties_json, after.metadata().device_properties_json);
}

}  // namespace redline::testing
