#include "trace/device_work.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "trace/args_scan.h"
#include "trace/slice_view.h"
#include "trace/sorted_runs.h"

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

void append_rows(const Trace& trace, const Lane& lane, const NameKinds& names,
                 std::vector<DeviceWork>& rows) {
  const auto& slices = trace.slices();
  for (uint32_t i = lane.first.value; i < lane.first.value + lane.count; ++i) {
    if (!is_device_work(slices.category[i])) continue;
    DeviceWork row;
    row.interval = {slices.begin_ns[i], slices.end_ns[i]};
    row.slice = SliceId{i};
    row.name = slices.name[i];
    row.category = slices.category[i];
    row.is_communication = row.is_kernel() && names.is(row.name, kCommunicationKernelName);
    rows.push_back(row);
  }
}

// A stream of one lane is sorted.
void sort_from(std::vector<DeviceWork>& rows, size_t first) {
  constexpr auto kBegunBefore = [](const DeviceWork& left, const DeviceWork& right) {
    return left.interval.begin_ns < right.interval.begin_ns;
  };
  const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(first);
  if (std::is_sorted(begin, rows.end(), kBegunBefore)) return;
  std::vector<DeviceWork> stream(begin, rows.end());
  sort_runs(stream, kBegunBefore);
  std::copy(stream.begin(), stream.end(), begin);
}

void find_launches(const Trace& trace, DeviceTable& table) {
  for (uint32_t i = 0; i < table.rows.size(); ++i) {
    table.row_of[table.rows[i].slice.value - table.first_slice.value] = i;
  }
  for (const Flow& flow : trace.flows()) {
    if (flow.kind != FlowKind::kLaunch) continue;
    const uint32_t row = table.index_of(flow.to);
    if (row != DeviceTable::kNoRow && !table.rows[row].launch) table.rows[row].launch = flow.from;
  }
}

void read_kernel_args(std::string_view text, DeviceWork& row) {
  constexpr std::array<std::string_view, 2> kKeys = {"blocks per SM", "est. achieved occupancy %"};
  std::array<std::string_view, kKeys.size()> values;
  find_args(text, kKeys, values);
  const auto blocks = to_number(values[0]), occupancy = to_number(values[1]);
  if (blocks && *blocks >= 0) row.blocks_per_sm = *blocks;
  if (occupancy && *occupancy >= 0) row.occupancy = *occupancy / 100;
}

void read_copy_args(std::string_view text, DeviceWork& row) {
  constexpr std::array<std::string_view, 2> kKeys = {"bytes", "memory bandwidth (GB/s)"};
  std::array<std::string_view, kKeys.size()> values;
  find_args(text, kKeys, values);
  row.bytes = to_integer(values[0]).value_or(0);
  row.bandwidth = to_number(values[1]).value_or(0) * 1e9;
}

}  // namespace

DeviceTable find_device_work(const Trace& trace, const NameKinds& names) {
  const auto streams = device_lanes(trace);
  size_t slices = 0;
  uint32_t first_slice = UINT32_MAX, behind_slices = 0;
  for (const auto& [key, lanes] : streams) {
    for (const Lane& lane : lanes) {
      slices += lane.count;
      first_slice = std::min(first_slice, lane.first.value);
      behind_slices = std::max(behind_slices, lane.first.value + lane.count);
    }
  }
  DeviceTable table;
  if (slices == 0) return table;
  table.rows.reserve(slices);
  table.first_slice = SliceId{first_slice};
  table.row_of.resize(behind_slices - first_slice, DeviceTable::kNoRow);
  for (const auto& [key, lanes] : streams) {
    const size_t first = table.rows.size();
    for (const Lane& lane : lanes) append_rows(trace, lane, names, table.rows);
    sort_from(table.rows, first);
    table.streams.push_back({key.first, key.second, first, table.rows.size() - first});
  }
  find_launches(trace, table);
  return table;
}

void read_args(TextCursor& text, std::span<DeviceWork> rows) {
  for (DeviceWork& row : rows) {
    const auto event = text.text_from(row.slice);
    row.is_kernel() ? read_kernel_args(event, row) : read_copy_args(event, row);
  }
}

}  // namespace redline::trace
