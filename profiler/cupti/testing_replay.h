// For tests: reads the GPU activities of a real trace, and gives the recorder the CUPTI records
// from which they must have been made.
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "profiler/cupti/testing_window.h"
#include "trace/model/category.h"
#include "trace/read/args.h"
#include "trace/read/reader.h"

namespace redline::cupti {

using trace::Category;

constexpr std::array<std::string_view, 17> kKeys = {
    "External id",    "external id",  "device",
    "context",        "stream",       "correlation",
    "bytes",          "cbid",         "registers per thread",
    "shared memory",  "grid",         "block",
    "blocks per SM",  "warps per SM", "est. achieved occupancy %",
    "cuda_sync_kind", "queued"};
enum Key {
  kExternal,
  kExternalOld,
  kDevice,
  kContext,
  kStream,
  kCorrelation,
  kBytes,
  kCbid,
  kRegisters,
  kShared,
  kGrid,
  kBlock,
  kBlocksPerSm,
  kWarpsPerSm,
  kOccupancy,
  kSyncKind,
  kQueued
};

/// A slice of a trace with those of its args that are compared.
struct Activity {
  Category category = Category::kOther;
  std::string name;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  std::string lane;
  std::array<std::string, kKeys.size()> args;

  [[nodiscard]] int64_t number(Key key) const { return trace::to_integer(args[key]).value_or(0); }
  [[nodiscard]] std::string external() const {
    const std::string& id = args[kExternal].empty() ? args[kExternalOld] : args[kExternal];
    return id == "0" ? "" : id;  // traces of 2021 have 0 for no id
  }
  [[nodiscard]] std::array<int32_t, 3> triple(Key key) const {
    std::array<int32_t, 3> sizes = {1, 1, 1};
    if (!args[key].empty()) {
      std::sscanf(args[key].c_str(), "[%d,%d,%d]", &sizes[0], &sizes[1], &sizes[2]);
    }
    return sizes;
  }
  /// Kineto gives such a kernel an occupancy of 0.
  [[nodiscard]] bool opts_in_to_shared_memory() const { return number(kShared) > 49152; }
  /// Older Kinetos print as many digits as the float needs, newer ones six decimals.
  [[nodiscard]] std::string ratio(Key key) const {
    if (args[key].empty()) return "";
    return std::to_string(static_cast<float>(trace::to_number(args[key]).value_or(-1)));
  }
  [[nodiscard]] std::string line(int64_t origin_ns) const {
    std::string line = std::to_string(begin_ns - origin_ns) + " +" +
                       std::to_string(end_ns - begin_ns) + " " + name + " on " + lane +
                       " external " + external();
    for (const Key key : {kDevice, kContext, kStream, kCorrelation, kBytes, kCbid, kRegisters,
                          kShared, kGrid, kBlock, kOccupancy, kSyncKind, kQueued}) {
      if (key == kOccupancy && opts_in_to_shared_memory()) continue;
      if (!args[key].empty()) line += ", " + std::string(kKeys[key]) + " " + args[key];
    }
    return line + " " + ratio(kBlocksPerSm) + " " + ratio(kWarpsPerSm);
  }
};

inline std::vector<Activity> activities_of(const trace::Trace& from) {
  std::vector<Activity> found;
  const auto& slices = from.slices();
  for (size_t i = 0; i < from.slice_count(); ++i) {
    if (!trace::has_correlation(slices.category[i])) continue;
    const auto& track = from.tracks()[from.lanes()[slices.lane[i].value].track.value];
    Activity activity{
        slices.category[i], std::string(from.string(slices.name[i])), slices.begin_ns[i],
        slices.end_ns[i],   std::string(from.string(track.tid)),      {}};
    std::array<std::string_view, kKeys.size()> values;
    trace::find_args(event_text(from, slices.text_offset[i]), kKeys, values);
    for (size_t key = 0; key < kKeys.size(); ++key) {
      for (const char letter : values[key]) {
        if (std::isspace(static_cast<unsigned char>(letter)) == 0 || key == kSyncKind)
          activity.args[key] += letter;
      }
    }
    if (activity.lane.starts_with("stream ")) activity.lane.erase(0, 7);  // in traces of 2021
    if (activity.args[kStream] == "4294967295") activity.args[kStream] = "-1";
    if (activity.args[kStream] == "-1") activity.lane = "of the device";
    // Kineto writes some thread ids as signed numbers.
    if (trace::is_launch(activity.category) && activity.lane.starts_with("-")) {
      activity.lane = std::to_string(static_cast<uint32_t>(std::stoll(activity.lane)));
    }
    found.push_back(std::move(activity));
  }
  return found;
}

/// A line for each activity, sorted, with times from the first activity on.
inline std::vector<std::string> lines_of(const std::vector<Activity>& activities) {
  int64_t origin_ns = std::numeric_limits<int64_t>::max();
  for (const Activity& each : activities) origin_ns = std::min(origin_ns, each.begin_ns);
  std::vector<std::string> lines;
  for (const Activity& each : activities) lines.push_back(each.line(origin_ns));
  std::ranges::sort(lines);
  return lines;
}

/// The records that CUPTI gave for a trace's activities.
class Replay {
 public:
  /// Moves the trace's Unix times to our clock, so that the first activity begins at `begin_ns`.
  Replay(const std::vector<Activity>& activities, int64_t begin_ns) : activities_(activities) {
    int64_t origin_ns = std::numeric_limits<int64_t>::max();
    for (const Activity& each : activities) origin_ns = std::min(origin_ns, each.begin_ns);
    shift_ns_ = begin_ns - origin_ns;
  }

  void run() {
    std::set<int64_t> called;
    for (const Activity& each : activities_) {
      if (trace::is_launch(each.category)) called.insert(each.number(kCorrelation));
    }
    for (const Activity& each : activities_) {
      if (called.insert(each.number(kCorrelation)).second) call_before_window(each);
    }
    for (const Activity& each : activities_) emit(each);
  }

 private:
  [[nodiscard]] uint64_t time(int64_t unix_ns) const {
    return static_cast<uint64_t>(unix_ns + shift_ns_);
  }
  [[nodiscard]] static uint32_t id(const Activity& of, Key key) {
    return static_cast<uint32_t>(of.number(key));
  }
  /// CUPTI has separate buffers for the calls of each thread and for the work of GPUs.
  [[nodiscard]] static int buffer_of(uint32_t thread) { return 1 + static_cast<int>(thread % 4); }

  static void emit_external(const Activity& of, int buffer) {
    if (of.external().empty()) return;
    stub::emit_record(ExternalCorrelationRecord{Kind::kExternalCorrelation, kOperatorIds,
                                                static_cast<uint64_t>(
                                                    trace::to_integer(of.external()).value_or(0)),
                                                id(of, kCorrelation), 0},
                      buffer);
  }
  /// Emits a call for work whose call the trace does not hold, because it was before the window.
  void call_before_window(const Activity& of) const {
    emit_external(of, 1);
    stub::emit_record(launch_call(id(of, kCorrelation), 1), 1);
  }

  void emit(const Activity& of) const {
    switch (of.category) {
      case Category::kKernel:
        return emit_kernel(of);
      case Category::kMemcpy:
        return emit_copy(of);
      case Category::kMemset:
        return emit_memset(of);
      case Category::kSync:
        return emit_wait(of);
      default:
        return emit_call(of);
    }
  }

  void emit_call(const Activity& of) const {
    const auto thread = static_cast<uint32_t>(std::stoul(of.lane));
    const bool is_driver = of.category == Category::kDriver;
    const std::string name = of.name == "INVALID" ? of.name : of.name + "_v11000";
    stub::name_function(is_driver ? kDriverDomain : kRuntimeDomain, id(of, kCbid),
                        is_driver ? of.name.c_str() : name.c_str());
    emit_external(of, buffer_of(thread));
    stub::emit_record(
        ApiRecord{is_driver ? Kind::kDriver : Kind::kRuntime, id(of, kCbid), time(of.begin_ns),
                  time(of.end_ns), 1, thread, id(of, kCorrelation), 0},
        buffer_of(thread));
  }

  void emit_kernel(const Activity& of) const {
    KernelRecord record = {};
    record.kind = Kind::kConcurrentKernel;
    record.registers_per_thread = static_cast<uint16_t>(of.number(kRegisters));
    record.start = time(of.begin_ns);
    record.end = time(of.end_ns);
    record.device = id(of, kDevice);
    record.context = id(of, kContext);
    record.stream = id(of, kStream);
    std::ranges::copy(of.triple(kGrid), record.grid);
    std::ranges::copy(of.triple(kBlock), record.block);
    record.dynamic_shared_memory = static_cast<int32_t>(of.number(kShared));
    record.correlation = id(of, kCorrelation);
    record.name = of.name.c_str();
    stub::emit_record(record);
  }

  void emit_copy(const Activity& of) const {
    static const std::map<std::string, uint8_t> kinds = {
        {"HtoD", 1}, {"DtoH", 2}, {"DtoD", 8}, {"HtoH", 9}, {"PtoP", 10}};
    static const std::map<std::string, uint8_t> memories = {
        {"Unknown", 0}, {"Pageable", 1}, {"Pinned", 2}, {"Device", 3}, {"Array", 4}};
    char kind[8] = "", from[16] = "", to[16] = "";
    std::sscanf(of.name.c_str(), "Memcpy %7s (%15s -> %15[^)])", kind, from, to);
    stub::emit_record(MemcpyRecord{.kind = Kind::kMemcpy,
                                   .copy_kind = kinds.at(kind),
                                   .source_kind = memories.at(from),
                                   .destination_kind = memories.at(to),
                                   .bytes = static_cast<uint64_t>(of.number(kBytes)),
                                   .start = time(of.begin_ns),
                                   .end = time(of.end_ns),
                                   .device = id(of, kDevice),
                                   .context = id(of, kContext),
                                   .stream = id(of, kStream),
                                   .correlation = id(of, kCorrelation)});
  }

  void emit_memset(const Activity& of) const {
    stub::emit_record(MemsetRecord{.kind = Kind::kMemset,
                                   .bytes = static_cast<uint64_t>(of.number(kBytes)),
                                   .start = time(of.begin_ns),
                                   .end = time(of.end_ns),
                                   .device = id(of, kDevice),
                                   .context = id(of, kContext),
                                   .stream = id(of, kStream),
                                   .correlation = id(of, kCorrelation),
                                   .memory_kind = 3});
  }

  void emit_wait(const Activity& of) const {
    static const std::map<std::string, uint32_t> kinds = {
        {"Event Sync", 1}, {"Stream Wait Event", 2}, {"Stream Sync", 3}, {"Context Sync", 4}};
    stub::emit_record(ContextRecord{Kind::kContext, id(of, kContext), id(of, kDevice), 1, 7});
    stub::emit_record(SynchronizationRecord{
        Kind::kSynchronization, kinds.at(of.name), time(of.begin_ns), time(of.end_ns),
        id(of, kCorrelation), id(of, kContext), id(of, kStream), 0});
  }

  const std::vector<Activity>& activities_;
  int64_t shift_ns_ = 0;
};

}  // namespace redline::cupti
