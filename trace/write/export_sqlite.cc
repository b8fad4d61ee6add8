#include "trace/write/export_sqlite.h"

#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/analysis/analysis.h"
#include "trace/analysis/collective_calls.h"
#include "trace/analysis/device_work.h"
#include "trace/analysis/gpus.h"
#include "trace/analysis/modules.h"
#include "trace/analysis/operator_shapes.h"
#include "trace/analysis/roofline.h"
#include "trace/analysis/steps.h"
#include "trace/emit/json_scan.h"
#include "trace/model/category.h"
#include "trace/model/slice_view.h"
#include "trace/read/text_cursor.h"
#include "trace/write/json_repair.h"
#include "trace/write/sqlite_file.h"

namespace redline::trace {
namespace {

constexpr const char* kTables = R"sql(
PRAGMA user_version=1;
CREATE TABLE traces(id INTEGER PRIMARY KEY, path TEXT, rank INTEGER, world_size INTEGER, host TEXT,
  begin_ns INTEGER, end_ns INTEGER, events INTEGER);
CREATE TABLE metadata(trace_id INTEGER, key TEXT, value TEXT);
CREATE TABLE strings(id INTEGER PRIMARY KEY, text TEXT);
CREATE TABLE tracks(id INTEGER PRIMARY KEY, trace_id INTEGER, kind TEXT, pid TEXT, tid TEXT,
  process TEXT, thread TEXT, device INTEGER, stream INTEGER);
CREATE TABLE slices(id INTEGER PRIMARY KEY, trace_id INTEGER, track_id INTEGER, depth INTEGER,
  parent_id INTEGER, category TEXT, name_id INTEGER, begin_ns INTEGER, dur_ns INTEGER,
  correlation INTEGER, args TEXT);
CREATE TABLE kernels(slice_id INTEGER PRIMARY KEY, trace_id INTEGER, name_id INTEGER,
  device INTEGER, stream INTEGER, begin_ns INTEGER, dur_ns INTEGER, launch_id INTEGER,
  grid TEXT, block TEXT, registers INTEGER, shared_memory INTEGER, occupancy REAL);
CREATE TABLE copies(slice_id INTEGER PRIMARY KEY, trace_id INTEGER, name_id INTEGER,
  device INTEGER, stream INTEGER, begin_ns INTEGER, dur_ns INTEGER, launch_id INTEGER,
  bytes INTEGER);
CREATE TABLE collectives(slice_id INTEGER PRIMARY KEY, trace_id INTEGER, name_id INTEGER,
  kind TEXT, group_name TEXT, ranks INTEGER, seq INTEGER, seq_recorded INTEGER, bytes INTEGER,
  device INTEGER, begin_ns INTEGER, dur_ns INTEGER);
CREATE TABLE steps(trace_id INTEGER, number INTEGER, begin_ns INTEGER, end_ns INTEGER,
  host_begin_ns INTEGER, host_end_ns INTEGER);
CREATE TABLE operators_by_shape(trace_id INTEGER, name_id INTEGER, input_dims TEXT,
  input_types TEXT, calls INTEGER, recomputed_calls INTEGER, flops INTEGER, bytes INTEGER,
  device_ns INTEGER, host_ns INTEGER, tflops_per_s REAL, gb_per_s REAL, percent_of_peak REAL,
  bound TEXT, lost_ns INTEGER);
CREATE TABLE modules(id INTEGER PRIMARY KEY, trace_id INTEGER, parent_id INTEGER, name TEXT,
  label TEXT, type TEXT, forward_calls INTEGER, forward_host_ns INTEGER, forward_device_ns INTEGER,
  backward_calls INTEGER, backward_host_ns INTEGER, backward_device_ns INTEGER,
  recomputation_calls INTEGER, recomputation_host_ns INTEGER, recomputation_device_ns INTEGER,
  exposed_ns INTEGER);
CREATE TABLE module_work(slice_id INTEGER PRIMARY KEY, module_id INTEGER, pass TEXT);
CREATE TABLE flows(from_id INTEGER, to_id INTEGER, kind TEXT);
CREATE TABLE instants(trace_id INTEGER, track_id INTEGER, name_id INTEGER, time_ns INTEGER,
  args TEXT);
CREATE TABLE counters(trace_id INTEGER, pid TEXT, name_id INTEGER, time_ns INTEGER, value REAL);
CREATE VIEW events AS SELECT s.id, t.rank, s.category, n.text AS name, s.begin_ns, s.dur_ns,
  r.process, r.thread, s.depth, s.parent_id, s.correlation
  FROM slices s JOIN strings n ON n.id = s.name_id JOIN tracks r ON r.id = s.track_id
  JOIN traces t ON t.id = s.trace_id;
)sql";

// Indices are made after the rows, because that is several times as fast as keeping them up to
// date.
constexpr const char* kIndices = R"sql(
CREATE INDEX slices_by_name ON slices(name_id);
CREATE INDEX slices_by_track ON slices(track_id, begin_ns);
CREATE INDEX kernels_by_name ON kernels(name_id);
CREATE INDEX collectives_by_seq ON collectives(group_name, kind, seq);
CREATE INDEX module_work_by_module ON module_work(module_id);
CREATE INDEX flows_by_from ON flows(from_id);
CREATE INDEX flows_by_to ON flows(to_id);
CREATE INDEX instants_by_name ON instants(name_id);
CREATE INDEX counters_by_name ON counters(name_id, time_ns);
)sql";

std::string_view track_kind_name(TrackKind kind) {
  if (kind == TrackKind::kCpuThread) return "cpu";
  return kind == TrackKind::kGpuStream ? "gpu" : "other";
}

std::string_view flow_kind_name(FlowKind kind) {
  if (kind == FlowKind::kLaunch) return "launch";
  return kind == FlowKind::kForwardBackward ? "forward_backward" : "other";
}

std::string_view args_of(TextCursor& text, uint64_t text_offset) {
  return find_value(text.event_text(text_offset), "args");
}

uint64_t rows_of(const Trace& trace) {
  uint64_t rows = trace.slice_count() + trace.flows().size() + trace.instants().size();
  for (const Counter& counter : trace.counters()) rows += counter.time_ns.size();
  return rows;
}

// Counts rows, reports progress, and says when to stop.
class Meter {
 public:
  Meter(const SqliteOptions& options, uint64_t total) : options_(options), total_(total) {}

  /// Call it after each row; false means stop.
  bool go_on() {
    constexpr uint64_t kStep = 4096;
    if (++done_ % kStep != 0) return true;
    if (options_.progress) options_.progress(done_, total_);
    return !is_cancelled();
  }
  [[nodiscard]] bool is_cancelled() const {
    return options_.cancel != nullptr && options_.cancel->load();
  }

 private:
  const SqliteOptions& options_;
  uint64_t total_;
  uint64_t done_ = 0;
};

// What all traces of one file share.
class Export {
 public:
  Export(SqliteFile& file, const SqliteOptions& options, uint64_t total)
      : file_(file), options_(options), meter_(options, total) {}

  void add(const Trace& trace);

  [[nodiscard]] bool is_cancelled() const { return meter_.is_cancelled(); }
  [[nodiscard]] bool ok() const {
    for (const SqliteInsert* insert :
         {&traces_, &metadata_, &strings_, &tracks_, &slices_, &kernels_, &copies_, &collectives_,
          &steps_, &shapes_, &modules_, &module_work_, &flows_, &instants_, &counters_}) {
      if (!insert->ok()) return false;
    }
    return true;
  }

 private:
  void add_trace(const Trace& trace, const RecordedFacts& recorded);
  void add_metadata(const Trace& trace);
  void add_strings(const Trace& trace);
  void add_tracks(const Trace& trace);
  void add_slices(const Trace& trace, const HostTree& tree);
  void add_device_work(const Trace& trace, const DeviceWorkTable& device);
  void add_kernel_facts(std::string_view args);
  void add_collectives(const Trace& trace, const CollectiveCalls& found);
  void add_steps(const std::vector<Step>& steps);
  void add_shapes(const Trace& trace, const OperatorShapes& shapes, const DevicePeaks& peaks);
  void add_modules(const Trace& trace, const DeviceWorkTable& device);
  void add_flows(const Trace& trace);
  void add_instants(const Trace& trace);
  void add_counters(const Trace& trace);

  SqliteInsert insert(const char* table, int columns) {
    std::string sql = std::string("INSERT INTO ") + table + " VALUES(?";
    for (int i = 1; i < columns; ++i) sql += ",?";
    return file_.insert(sql + ")");
  }
  [[nodiscard]] int64_t id_of(SliceId slice) const { return first_slice_ + slice.value; }
  [[nodiscard]] std::optional<int64_t> id_or_null(SliceId slice) const {
    return slice ? std::optional(id_of(slice)) : std::nullopt;
  }
  [[nodiscard]] std::optional<int64_t> id_of(StringId name) const {
    return name ? std::optional(string_ids_[name.value]) : std::nullopt;
  }

  // JSON until the next call. SQLite fails a whole query where one row's args are no JSON, and
  // Python's sqlite3 refuses to read what is no UTF-8.
  std::optional<std::string_view> json_or_null(std::string_view args) {
    return args.empty() ? std::nullopt : std::optional(repair_.sound(args));
  }

  SqliteFile& file_;
  const SqliteOptions& options_;
  Meter meter_;
  JsonRepair repair_;
  SqliteInsert traces_ = insert("traces", 8), metadata_ = insert("metadata", 3),
               strings_ = insert("strings", 2), tracks_ = insert("tracks", 9),
               slices_ = insert("slices", 11), kernels_ = insert("kernels", 13),
               copies_ = insert("copies", 9), collectives_ = insert("collectives", 12),
               steps_ = insert("steps", 6), shapes_ = insert("operators_by_shape", 15),
               modules_ = insert("modules", 16), module_work_ = insert("module_work", 3),
               flows_ = insert("flows", 3), instants_ = insert("instants", 5),
               counters_ = insert("counters", 5);
  std::unordered_map<std::string_view, int64_t> known_strings_;  // of all traces, which live on
  std::vector<int64_t> string_ids_;                              // of this trace
  int64_t trace_id_ = -1;
  int64_t first_slice_ = 0;
  int64_t first_track_ = 0;
  int64_t first_module_ = 0;
};

void Export::add(const Trace& trace) {
  ++trace_id_;
  const NameKinds names(trace);
  const HostTree tree = build_host_tree(trace, names);
  const DeviceWorkTable device = find_device_work(trace, names);
  const RecordedFacts recorded(trace);
  add_trace(trace, recorded);
  add_metadata(trace);
  add_strings(trace);
  add_tracks(trace);
  add_slices(trace, tree);
  add_device_work(trace, device);
  add_collectives(trace, find_collective_calls(trace, names, device, tree));
  const std::vector<Step> steps = find_steps(trace, device);
  add_steps(steps);
  std::vector<MemoryEvent> memory;
  if (device.rows.empty()) {
    memory = find_memory_events(trace);
    TextCursor text(trace);
    read_args(text, memory);
  }
  add_shapes(trace, operator_shapes(trace, device, tree, steps),
             unrecorded_gpu(trace, recorded, device, memory)
                 ? DevicePeaks()
                 : peaks_of(trace, recorded, device_properties(trace), device));
  add_modules(trace, device);
  add_flows(trace);
  add_instants(trace);
  add_counters(trace);
  first_slice_ += static_cast<int64_t>(trace.slice_count());
  first_track_ += static_cast<int64_t>(trace.tracks().size());
}

void Export::add_trace(const Trace& trace, const RecordedFacts& recorded) {
  const Metadata& metadata = trace.metadata();
  // A merged file names its first rank only.
  const std::optional<int> rank = recorded.merged_ranks() > 1 ? std::nullopt : metadata.rank;
  const auto number = [](std::optional<int> value) {
    return value ? std::optional<int64_t>(*value) : std::nullopt;
  };
  traces_.add(trace_id_).add(trace.path());
  traces_.add(number(rank)).add(number(metadata.world_size));
  traces_.add(metadata.host).add(trace.begin_ns()).add(trace.end_ns());
  traces_.add(static_cast<int64_t>(trace.event_count())).row();
}

void Export::add_metadata(const Trace& trace) {
  const std::string& devices = trace.metadata().device_properties_json;
  if (!devices.empty()) {
    metadata_.add(trace_id_).add("deviceProperties").add(devices).row();
  }
  for_each_member(
      trace.metadata().top_level_json, [&](std::string_view key, std::string_view json) {
        const std::string name = decode_string(key);
        const bool is_text = !json.empty() && json.front() == '"';
        const std::string value = is_text ? decode_string(unquote(json)) : std::string(json);
        metadata_.add(trace_id_).add(name).add(value).row();
        return true;
      });
}

void Export::add_strings(const Trace& trace) {
  string_ids_.resize(trace.string_count());
  for (uint32_t i = 0; i < string_ids_.size(); ++i) {
    const std::string_view text = trace.string(StringId{i});
    const auto [known, is_new] =
        known_strings_.try_emplace(text, static_cast<int64_t>(known_strings_.size()));
    string_ids_[i] = known->second;
    if (is_new) strings_.add(known->second).add(text).row();
  }
}

void Export::add_tracks(const Trace& trace) {
  int64_t id = first_track_;
  for (const Track& track : trace.tracks()) {
    const bool is_gpu = track.kind == TrackKind::kGpuStream;
    tracks_.add(id++).add(trace_id_).add(track_kind_name(track.kind));
    tracks_.add(trace.string(track.pid)).add(trace.string(track.tid));
    tracks_.add(trace.string(track.process_name)).add(trace.string(track.thread_name));
    tracks_.add(is_gpu ? std::optional<int64_t>(track.device) : std::nullopt);
    tracks_.add(is_gpu ? std::optional(track.stream) : std::nullopt).row();
  }
}

void Export::add_slices(const Trace& trace, const HostTree& tree) {
  const auto& slices = trace.slices();
  TextCursor text(trace);
  for (const Lane& lane : trace.lanes()) {
    for (uint32_t i = lane.first.value; i < lane.end(); ++i) {
      slices_.add(id_of(SliceId{i})).add(trace_id_).add(first_track_ + lane.track.value);
      slices_.add(int64_t{lane.depth}).add(id_or_null(tree.parent[i]));
      slices_.add(category_name(slices.category[i])).add(id_of(slices.name[i]));
      slices_.add(slices.begin_ns[i]).add(slices.end_ns[i] - slices.begin_ns[i]);
      const uint32_t correlation = slices.correlation[i];
      slices_.add(correlation != 0 ? std::optional(int64_t{correlation}) : std::nullopt);
      slices_.add(options_.args ? json_or_null(args_of(text, slices.text_offset[i]))
                                : std::nullopt);
      slices_.row();
      if (!meter_.go_on()) return;
    }
  }
}

// Arrays are stored as they stand in the file: "[32, 1, 1]".
void Export::add_kernel_facts(std::string_view args) {
  std::string_view grid, block, registers, shared_memory, occupancy;
  for_each_member(args, [&](std::string_view key, std::string_view json) {
    if (key == "grid") grid = json;
    if (key == "block") block = json;
    if (key == "registers per thread") registers = json;
    if (key == "shared memory") shared_memory = json;
    if (key == "est. achieved occupancy %") occupancy = json;
    return true;
  });
  for (const std::string_view json : {grid, block}) {
    kernels_.add(json.empty() ? std::nullopt : std::optional(json));
  }
  kernels_.add(parse_scaled(unquote(registers), 0)).add(parse_scaled(unquote(shared_memory), 0));
  const auto thousandths = parse_scaled(unquote(occupancy), 3);
  kernels_.add(thousandths ? std::optional(static_cast<double>(*thousandths) / 1e5) : std::nullopt);
}

void Export::add_device_work(const Trace& trace, const DeviceWorkTable& device) {
  TextCursor text(trace);
  for (const DeviceStream& stream : device.streams) {
    for (const DeviceWork& work : device.of(stream)) {
      if (meter_.is_cancelled()) return;
      SqliteInsert& table = work.is_kernel() ? kernels_ : copies_;
      table.add(id_of(work.slice)).add(trace_id_).add(id_of(work.name));
      table.add(int64_t{stream.device}).add(stream.stream).add(work.interval.begin_ns);
      table.add(work.interval.length_ns()).add(id_or_null(work.launch));
      const std::string_view args = args_of(text, trace.slices().text_offset[work.slice.value]);
      if (work.is_kernel()) {
        add_kernel_facts(json_or_null(args).value_or(""));
      } else {
        table.add(parse_scaled(unquote(find_value(args, "bytes")), 0));
      }
      table.row();
    }
  }
}

void Export::add_collectives(const Trace& trace, const CollectiveCalls& found) {
  const auto positive = [](int64_t value) {
    return value >= 0 ? std::optional(value) : std::nullopt;
  };
  for (const CollectiveCall& call : found.calls) {
    collectives_.add(id_of(call.slice)).add(trace_id_);
    collectives_.add(id_of(trace.slices().name[call.slice.value])).add(kind_name(call.kind));
    collectives_.add(found.groups[call.group].name);
    collectives_.add(call.ranks > 0 ? std::optional(int64_t{call.ranks}) : std::nullopt);
    collectives_.add(call.seq).add(int64_t{call.seq_recorded}).add(positive(call.bytes));
    collectives_.add(positive(call.device)).add(trace.slices().begin_ns[call.slice.value]);
    collectives_.add(call.is_timed ? std::optional(duration_ns(trace, call.slice)) : std::nullopt);
    collectives_.row();
  }
}

void Export::add_steps(const std::vector<Step>& steps) {
  for (const Step& step : steps) {
    steps_.add(trace_id_).add(step.number).add(step.window.begin_ns).add(step.window.end_ns);
    steps_.add(step.host.begin_ns).add(step.host.end_ns).row();
  }
}

void Export::add_shapes(const Trace& trace, const OperatorShapes& shapes,
                        const DevicePeaks& peaks) {
  for (const OperatorShape& row : shapes.rows) {
    const RooflinePoint point = roofline_point(trace.strings(), row, peaks);
    shapes_.add(trace_id_).add(id_of(row.name)).add(row.input_dims);
    shapes_.add(row.input_types).add(row.count).add(row.recomputed_count);
    shapes_.add(row.work.flops).add(row.work.bytes).add(row.device_ns).add(row.host_ns);
    shapes_.add(point.tflops_per_s).add(point.gb_per_s).add(point.percent_of_peak);
    if (point.bound) {
      shapes_.add(bound_name(*point.bound));
    } else {
      shapes_.null();
    }
    shapes_.add(point.lost_ns).row();
  }
}

// Without flops and memory, for which the whole text would be read once more.
void Export::add_modules(const Trace& trace, const DeviceWorkTable& device) {
  const ModuleTree tree = module_tree(trace, device, {}, {});
  for (size_t i = 0; i < tree.nodes.size(); ++i) {
    const ModuleNode& node = tree.nodes[i];
    const std::string label = i == 0 ? "" : node.label(tree.nodes[node.parent]);
    modules_.add(first_module_ + static_cast<int64_t>(i)).add(trace_id_);
    modules_.add(i == 0 ? std::nullopt : std::optional(first_module_ + int64_t{node.parent}));
    modules_.add(node.name).add(label);
    modules_.add(node.type);
    for (const ModuleWork& work : node.total) {
      modules_.add(work.calls).add(work.host_ns).add(work.device_ns);
    }
    modules_.add(node.exposed_ns).row();
  }
  for (size_t i = 0; i < tree.of_work.size(); ++i) {
    const ModulePlace place = tree.of_work[i];
    module_work_.add(id_of(device.rows[i].slice)).add(first_module_ + int64_t{place.node});
    module_work_.add(kModulePassNames[static_cast<size_t>(place.pass)]).row();
  }
  first_module_ += static_cast<int64_t>(tree.nodes.size());
}

void Export::add_flows(const Trace& trace) {
  for (const Flow& flow : trace.flows()) {
    flows_.add(id_of(flow.from)).add(id_of(flow.to)).add(flow_kind_name(flow.kind)).row();
    if (!meter_.go_on()) return;
  }
}

void Export::add_instants(const Trace& trace) {
  TextCursor text(trace);
  for (const Instant& instant : trace.instants()) {
    instants_.add(trace_id_);
    instants_.add(instant.track ? std::optional(first_track_ + instant.track.value) : std::nullopt);
    instants_.add(id_of(instant.name)).add(instant.time_ns);
    instants_.add(json_or_null(args_of(text, instant.text_offset))).row();
    if (!meter_.go_on()) return;
  }
}

void Export::add_counters(const Trace& trace) {
  for (const Counter& counter : trace.counters()) {
    for (size_t i = 0; i < counter.time_ns.size(); ++i) {
      counters_.add(trace_id_).add(trace.string(counter.pid)).add(id_of(counter.name));
      counters_.add(counter.time_ns[i]).add(counter.value[i]).row();
      if (!meter_.go_on()) return;
    }
  }
}

}  // namespace

tl::expected<void, std::string> export_sqlite(std::span<const std::shared_ptr<const Trace>> traces,
                                              const std::string& path,
                                              const SqliteOptions& options) {
  auto file = SqliteFile::create(path);
  if (!file) return tl::unexpected(file.error());
  if (auto made = file->execute(kTables); !made) return made;
  uint64_t total = 0;
  for (const auto& trace : traces) total += rows_of(*trace);
  {
    Export rows(*file, options, total);
    for (const auto& trace : traces) {
      rows.add(*trace);
      if (rows.is_cancelled()) return tl::unexpected(std::string("cancelled"));
      if (!rows.ok()) return tl::unexpected(file->error());
    }
  }
  if (auto made = file->execute(kIndices); !made) return made;
  if (options.cancel != nullptr && *options.cancel) return tl::unexpected(std::string("cancelled"));
  return file->save();
}

}  // namespace redline::trace
