#include "trace/analysis/device_work.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/natural_sort.h"
#include "trace/model/slice_view.h"
#include "trace/read/args.h"

namespace redline::trace {
namespace {

// The lanes that hold device work, by device and stream.
std::map<std::pair<int32_t, int64_t>, std::vector<Lane>> device_lanes(const Trace& trace) {
  std::map<std::pair<int32_t, int64_t>, std::vector<Lane>> streams;
  const auto& categories = trace.slices().category;
  for (const Lane& lane : trace.lanes()) {
    const Track& track = trace.tracks()[lane.track.value];
    for (uint32_t i = 0; i < lane.count; ++i) {
      if (!is_device_work(categories[lane.first.value + i])) continue;
      streams[{track.device, track.stream}].push_back(lane);
      break;
    }
  }
  return streams;
}

// The device work of one stream by begin; its lanes are sorted.
std::vector<SliceId> sorted_work(const Trace& trace, const std::vector<Lane>& lanes) {
  const auto& slices = trace.slices();
  size_t count = 0;
  for (const Lane& lane : lanes) count += lane.count;
  std::vector<SliceId> work;
  work.reserve(count);
  for (const Lane& lane : lanes) {
    for (uint32_t i = lane.first.value; i < lane.end(); ++i) {
      if (is_device_work(slices.category[i])) work.push_back(SliceId{i});
    }
  }
  natural_sort(std::span(work), [&](SliceId left, SliceId right) {
    return slices.begin_ns[left.value] < slices.begin_ns[right.value];
  });
  return work;
}

void append_row(const Trace& trace, SliceId slice, const NameKinds& names, DeviceWorkTable& table) {
  const auto& slices = trace.slices();
  table.row_of[slice.value - table.first_slice.value] = static_cast<uint32_t>(table.rows.size());
  DeviceWork& row = table.rows.emplace_back();
  row.interval = interval_of(trace, slice);
  row.slice = slice;
  row.name = slices.name[slice.value];
  row.category = slices.category[slice.value];
  row.is_communication = row.is_kernel() && names.is(row.name, kCommunicationKernelName);
}

void find_launches(const Trace& trace, DeviceWorkTable& table) {
  for (const Flow& flow : trace.flows()) {
    if (flow.kind != FlowKind::kLaunch) continue;
    const uint32_t row = table.index_of(flow.to);
    if (row != DeviceWorkTable::kNoRow && !table.rows[row].launch)
      table.rows[row].launch = flow.from;
  }
}

void read_kernel_args(std::string_view text, ArgsScanner& scanner, DeviceWork& row) {
  constexpr auto kKeys =
      std::to_array<std::string_view>({"blocks per SM", "est. achieved occupancy %"});
  std::array<std::string_view, kKeys.size()> values;
  scanner.find(text, row.name.value, kKeys, values);
  const auto blocks = to_number(values[0]), occupancy = to_number(values[1]);
  if (blocks && *blocks >= 0) row.blocks_per_sm = *blocks;
  if (occupancy && *occupancy >= 0) row.occupancy = *occupancy / 100;
}

void read_copy_args(std::string_view text, ArgsScanner& scanner, DeviceWork& row) {
  constexpr auto kKeys = std::to_array<std::string_view>({"bytes", "memory bandwidth (GB/s)"});
  std::array<std::string_view, kKeys.size()> values;
  scanner.find(text, row.name.value, kKeys, values);
  row.bytes = to_integer(values[0]).value_or(0);
  row.bandwidth = to_number(values[1]).value_or(0) * 1e9;
}

// Prefetches an event's text: it was read long ago, so it is not in the processor's cache any more.
// `distance` is from the event that `text` begins with.
void fetch(std::string_view text, uint64_t distance) {
  constexpr size_t kCacheLine = 64, kBytesOfAnEvent = 896;
  if (distance >= text.size()) return;  // also true if it stands before, as the number wraps
  const std::string_view event = text.substr(distance, kBytesOfAnEvent);
  for (size_t at = 0; at < event.size(); at += kCacheLine) __builtin_prefetch(event.data() + at);
}

}  // namespace

DeviceWorkTable find_device_work(const Trace& trace, const NameKinds& names) {
  const auto streams = device_lanes(trace);
  size_t slices = 0;
  uint32_t first_slice = UINT32_MAX, behind_slices = 0;
  for (const auto& [key, lanes] : streams) {
    for (const Lane& lane : lanes) {
      slices += lane.count;
      first_slice = std::min(first_slice, lane.first.value);
      behind_slices = std::max(behind_slices, lane.end());
    }
  }
  DeviceWorkTable table;
  if (slices == 0) return table;
  table.rows.reserve(slices);
  table.first_slice = SliceId{first_slice};
  table.row_of.resize(behind_slices - first_slice, DeviceWorkTable::kNoRow);
  for (const auto& [key, lanes] : streams) {
    const size_t first = table.rows.size();
    for (const SliceId slice : sorted_work(trace, lanes)) append_row(trace, slice, names, table);
    table.streams.push_back({key.first, key.second, first, table.rows.size() - first});
  }
  find_launches(trace, table);
  return table;
}

void read_args(TextCursor& text, std::span<DeviceWork> rows) {
  constexpr size_t kAhead = 4;
  ArgsScanner scanner;
  for (size_t i = 0; i < rows.size(); ++i) {
    DeviceWork& row = rows[i];
    const std::string_view event = text.text_from(row.slice);
    if (i + kAhead < rows.size()) {
      fetch(event, text.offset_of(rows[i + kAhead].slice) - text.offset_of(row.slice));
    }
    row.is_kernel() ? read_kernel_args(event, scanner, row) : read_copy_args(event, scanner, row);
  }
}

}  // namespace redline::trace
