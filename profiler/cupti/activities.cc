#include "profiler/cupti/activities.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "profiler/cupti/activity_names.h"
#include "profiler/source.h"
#include "profiler/text_table.h"

namespace redline::cupti {

using profiler::CudaFields;
using profiler::Record;
using profiler::RecordKind;
using profiler::TextId;

namespace {

/// Times of our clock are not further ahead; unix time is, by decades.
constexpr int64_t kFarAheadNs = 3'600'000'000'000;
constexpr int kMostFlushes = 2;  ///< that work waits for its call
constexpr size_t kMostWaiting = 1 << 16;

/// The shortest text that reads back as this float, as Kineto prints it.
std::string shortest(float value) {
  char text[32];
  const auto end = std::to_chars(std::begin(text), std::end(text), value).ptr;
  return {text, end};
}

std::string lane_members(uint32_t device, uint32_t context, uint32_t stream) {
  return "\"device\": " + std::to_string(device) + ", \"context\": " + std::to_string(context) +
         ", \"stream\": " + std::to_string(stream);
}

std::string graph_members(uint32_t graph, uint64_t node) {
  if (node == 0) return "";
  return ", \"graph id\": " + std::to_string(graph) +
         ", \"graph node id\": " + std::to_string(node);
}

std::string triple(const char* name, const int32_t (&sizes)[3]) {
  return std::string(", \"") + name + "\": [" + std::to_string(sizes[0]) + ", " +
         std::to_string(sizes[1]) + ", " + std::to_string(sizes[2]) + "]";
}

std::string occupancy_members(const Occupancy& occupancy) {
  return ", \"est. achieved occupancy %\": " + std::to_string(occupancy.percent) +
         ", \"occupancy\": {\"activeBlocksPerMultiprocessor\": " +
         std::to_string(occupancy.active_blocks) + ", \"limitingFactors\": \"" +
         occupancy.limited_by + "\"}";
}

std::string members_of(const KernelRecord& record, const DeviceProperties* device) {
  const int64_t shared = int64_t{record.static_shared_memory} + record.dynamic_shared_memory;
  std::string members =
      "\"queued\": 0, " + lane_members(record.device, record.context, record.stream) +
      ", \"registers per thread\": " + std::to_string(record.registers_per_thread) +
      ", \"shared memory\": " + std::to_string(shared);
  Launch launch{.registers_per_thread = record.registers_per_thread, .shared_memory = shared};
  std::copy(std::begin(record.grid), std::end(record.grid), launch.grid);
  std::copy(std::begin(record.block), std::end(record.block), launch.block);
  const Occupancy occupancy = device == nullptr ? Occupancy{} : estimate_occupancy(*device, launch);
  const bool is_known = device != nullptr && occupancy.active_blocks > 0;
  if (is_known) {
    members += ", \"blocks per SM\": " + shortest(occupancy.blocks_per_sm) +
               ", \"warps per SM\": " + shortest(occupancy.warps_per_sm);
  }
  members += triple("grid", record.grid) + triple("block", record.block);
  if (is_known) members += occupancy_members(occupancy);
  if (record.graph_node != 0) members += ", \"graph id\": " + std::to_string(record.graph);
  return members;
}

/// A hash of everything that members_of() depends on; never 0.
uint64_t launch_key(const KernelRecord& record) {
  const uint64_t parts[] = {uint64_t{record.device} << 32 | record.context,
                            uint64_t{record.stream} << 32 | record.registers_per_thread,
                            uint64_t(uint32_t(record.grid[0])) << 32 | uint32_t(record.grid[1]),
                            uint64_t(uint32_t(record.grid[2])) << 32 | uint32_t(record.block[0]),
                            uint64_t(uint32_t(record.block[1])) << 32 | uint32_t(record.block[2]),
                            uint64_t(uint32_t(record.static_shared_memory)) << 32 |
                                uint32_t(record.dynamic_shared_memory),
                            record.graph_node != 0 ? uint64_t{1} << 32 | record.graph : 0};
  const std::string_view bytes(reinterpret_cast<const char*>(parts), sizeof(parts));
  return profiler::hash_text(bytes, profiler::TextForm::kJson) | 1;
}

int8_t lane_of_device(uint32_t device) {
  return static_cast<int8_t>(std::min<uint32_t>(device, std::numeric_limits<int8_t>::max()));
}

Record work(RecordKind kind, uint32_t device, uint32_t stream, uint32_t correlation) {
  Record record;
  record.kind = kind;
  record.device_index = lane_of_device(device);
  CudaFields fields;
  fields.correlation = correlation;
  fields.lane = stream;
  record.of = fields;
  return record;
}

TextId copy_args(const std::string& lane, uint32_t graph, uint64_t node) {
  return profiler::intern_args(lane + graph_members(graph, node));
}

}  // namespace

struct Activities::FirstPass {
  Activities& all;
  void on(const ExternalCorrelationRecord& record) { all.see_external(record); }
  void on(const ApiRecord& record) { all.see_call(record); }
  void on(const ContextRecord& record) { all.device_of_context_[record.context] = record.device; }
  void on(const KernelRecord& record) { all.device_of_context_[record.context] = record.device; }
  void on(const CudaEventRecord& record) {
    all.events_[record.event] = {record.stream, record.correlation};
  }
  template <typename Other>
  void on(const Other&) {}
};

struct Activities::SecondPass {
  Activities& all;
  void on(const ExternalCorrelationRecord&) {}
  void on(const ContextRecord&) {}
  void on(const CudaEventRecord&) {}
  template <typename Record>
  void on(const Record& record) {
    all.add(record);
  }
};

template <typename Visitor>
DecodeCounts Activities::read(const std::vector<BufferPool::Filled>& buffers, Visitor& visitor) {
  DecodeCounts total;
  for (const auto& [buffer, valid_size] : buffers) {
    const DecodeCounts counts =
        decode_buffer(buffer, valid_size, library_.get_next_record, visitor);
    total.records += counts.records;
    total.unknown += counts.unknown;
    total.truncated += counts.truncated;
  }
  return total;
}

void Activities::add_round(const std::vector<BufferPool::Filled>& buffers, bool is_flushed) {
  now_ns_ = profiler::monotonic_ns();
  see_generation();
  FirstPass first{*this};
  const DecodeCounts counts = read(buffers, first);
  counts_.decoded.records += counts.records;
  counts_.decoded.unknown += counts.unknown;
  counts_.decoded.truncated += counts.truncated;
  launches_.end_round();
  retry_waiting();
  SecondPass second{*this};
  static_cast<void>(read(buffers, second));
  if (!is_flushed) return;
  for (Waiting& each : waiting_) ++each.flushes;
}

void Activities::finish() {
  see_generation();
  for (const Waiting& each : waiting_) submit_work(each.record, false);
  waiting_.clear();
  for (const GpuAnnotations::Span& span : annotations_.take()) {
    Record record = work(RecordKind::kGpuAnnotation, span.device, span.stream, 0);
    record.begin_ns = span.begin_ns;
    record.of.cuda.end_ns = span.end_ns;
    record.of.cuda.external = span.annotation;
    record.name = profiler::intern_name(annotation_names_.find(span.annotation));
    profiler::deliver(record);
  }
}

/// What was interned under an older generation is soon forgotten.
void Activities::see_generation() {
  const uint32_t generation = profiler::name_generation();
  if (generation == generation_) return;
  generation_ = generation;
  kernels_.clear();
  functions_.clear();
}

void Activities::see_external(const ExternalCorrelationRecord& record) {
  if (record.external_kind != kOperatorIds && record.external_kind != kAnnotationIds) return;
  launches_.add_external(record.correlation, record.external_kind == kAnnotationIds,
                         static_cast<uint32_t>(record.external));
}

void Activities::see_call(const ApiRecord& record) {
  const bool is_driver = record.kind == Kind::kDriver;
  if (!function(is_driver, record.function).is_shown) return;
  const int64_t begin_ns = to_monotonic(record.start);
  // A driver's call from within a runtime's call has its correlation.
  if (is_driver && launches_.find(record.correlation, begin_ns) != nullptr) return;
  launches_.add_call(record.correlation, begin_ns, record.thread);
}

int64_t Activities::to_monotonic(uint64_t time) const {
  const auto ns = static_cast<int64_t>(time);
  // Where our time-stamp callback was not taken, CUPTI counts unix time.
  return ns > now_ns_ + kFarAheadNs ? ns - clocks_.offset_ns() : ns;
}

bool Activities::set_times(Record& record, uint64_t start, uint64_t end) {
  if (start == 0 || end == 0) {
    ++counts_.incomplete;
    return false;
  }
  record.begin_ns = to_monotonic(start);
  record.of.cuda.end_ns = to_monotonic(end);
  const bool is_ours = record.begin_ns > 0 && record.of.cuda.end_ns <= now_ns_ + kFarAheadNs;
  if (!is_ours) ++counts_.other_clock;
  return is_ours;
}

Activities::Function Activities::function(bool is_driver, uint32_t number) {
  const uint64_t key = uint64_t{is_driver} << 32 | number;
  if (const auto known = functions_.find(key); known != functions_.end()) return known->second;
  const char* text = nullptr;
  const int domain = is_driver ? kDriverDomain : kRuntimeDomain;
  if (library_.get_callback_name(domain, number, &text) != kSuccess) text = nullptr;
  std::string_view name = text != nullptr ? text : "INVALID";
  if (!is_driver) name = runtime_function_name(name);
  const bool is_shown = is_driver ? is_shown_driver_function(name) : !is_noise(name);
  return functions_[key] = {profiler::intern_name(name), is_shown};
}

TextId Activities::kernel_id(const char* symbol) {
  const uint64_t key =
      profiler::hash_text(symbol != nullptr ? symbol : "", profiler::TextForm::kName);
  if (const auto known = kernels_.find(key); known != kernels_.end()) return known->second;
  return kernels_[key] = profiler::intern_name(kernel_name(symbol));
}

TextId Activities::launch_args(const KernelRecord& record) {
  const uint64_t key = launch_key(record);
  if (const TextId known = profiler::known_args(key)) return known;
  return profiler::intern_args_as(key, members_of(record, devices_.find(record.device)));
}

void Activities::add(const KernelRecord& kernel) {
  Record record = work(RecordKind::kKernel, kernel.device, kernel.stream, kernel.correlation);
  if (!set_times(record, kernel.start, kernel.end)) return;
  record.name = kernel_id(kernel.name);
  record.of.cuda.args = launch_args(kernel);
  record.of.cuda.amount = kernel.graph_node;
  submit_work(record, true);
}

void Activities::add(const MemcpyRecord& copy) {
  Record record = work(RecordKind::kCopy, copy.device, copy.stream, copy.correlation);
  if (!set_times(record, copy.start, copy.end)) return;
  record.name =
      profiler::intern_name(copy_name(copy.copy_kind, copy.source_kind, copy.destination_kind));
  record.of.cuda.args =
      copy_args(lane_members(copy.device, copy.context, copy.stream), copy.graph, copy.graph_node);
  record.of.cuda.amount = copy.bytes;
  submit_work(record, true);
}

void Activities::add(const PeerCopyRecord& copy) {
  Record record = work(RecordKind::kCopy, copy.device, copy.stream, copy.correlation);
  if (!set_times(record, copy.start, copy.end)) return;
  record.name =
      profiler::intern_name(copy_name(copy.copy_kind, copy.source_kind, copy.destination_kind));
  const std::string lane = "\"fromDevice\": " + std::to_string(copy.source_device) +
                           ", \"inDevice\": " + std::to_string(copy.device) +
                           ", \"toDevice\": " + std::to_string(copy.destination_device) +
                           ", \"fromContext\": " + std::to_string(copy.source_context) +
                           ", \"inContext\": " + std::to_string(copy.context) +
                           ", \"toContext\": " + std::to_string(copy.destination_context) +
                           ", \"stream\": " + std::to_string(copy.stream);
  record.of.cuda.args = copy_args(lane, copy.graph, copy.graph_node);
  record.of.cuda.amount = copy.bytes;
  submit_work(record, true);
}

void Activities::add(const MemsetRecord& set) {
  Record record = work(RecordKind::kMemset, set.device, set.stream, set.correlation);
  if (!set_times(record, set.start, set.end)) return;
  record.name = profiler::intern_name(memset_name(set.memory_kind));
  record.of.cuda.args =
      copy_args(lane_members(set.device, set.context, set.stream), set.graph, set.graph_node);
  record.of.cuda.amount = set.bytes;
  submit_work(record, true);
}

void Activities::add(const SynchronizationRecord& sync) {
  const auto context = device_of_context_.find(sync.context);
  const uint32_t device = context != device_of_context_.end() ? context->second : 0;
  const bool has_stream = sync.stream != kNoStream;
  Record record = work(RecordKind::kSynchronization, device,
                       has_stream ? sync.stream : profiler::kDeviceLane, sync.correlation);
  if (!set_times(record, sync.start, sync.end)) return;
  const std::string kind(synchronization_name(sync.type));
  record.name = profiler::intern_name(kind);
  std::string members = "\"cuda_sync_kind\": \"" + kind + "\"";
  const auto event = events_.find(sync.event);
  const bool is_of_event = sync.type == 1 || sync.type == 2;
  if (is_of_event && event != events_.end()) {
    members +=
        ", \"wait_on_stream\": " + std::to_string(event->second.stream) +
        ", \"wait_on_cuda_event_record_corr_id\": " + std::to_string(event->second.correlation) +
        ", \"wait_on_cuda_event_id\": " + std::to_string(sync.event);
  }
  members += ", \"stream\": " + std::to_string(static_cast<int32_t>(sync.stream)) +
             ", \"device\": " + std::to_string(device) +
             ", \"context\": " + std::to_string(sync.context);
  record.of.cuda.args = profiler::intern_args(members);
  submit_work(record, true);
}

void Activities::add(const ApiRecord& call) {
  const bool is_driver = call.kind == Kind::kDriver;
  const Function called = function(is_driver, call.function);
  if (!called.is_shown) return;
  Record record = work(RecordKind::kCudaCall, 0, call.thread, call.correlation);
  if (!set_times(record, call.start, call.end)) return;
  const Call* known = launches_.find(call.correlation, record.begin_ns);
  if (is_driver && known != nullptr && known->begin_ns != record.begin_ns) return;
  record.name = called.name;
  record.device_type = is_driver ? 1 : 0;
  record.of.cuda.amount = call.function;
  if (known != nullptr) record.of.cuda.external = known->external.op;
  profiler::deliver(record);
}

void Activities::add(const OverheadRecord& overhead) {
  Record record = work(RecordKind::kGpuOverhead, 0, 0, 0);
  if (!set_times(record, overhead.start, overhead.end)) return;
  record.name = profiler::intern_name(overhead_name(overhead.overhead_kind));
  profiler::deliver(record);
}

void Activities::submit_work(Record record, bool may_wait) {
  if (Call* call = launches_.find(record.of.cuda.correlation, record.begin_ns)) {
    return submit_matched(record, *call);
  }
  if (may_wait && waiting_.size() < kMostWaiting) {
    waiting_.push_back({.record = record});
    return;
  }
  ++counts_.without_call;
  profiler::deliver(record);
}

void Activities::submit_matched(Record& record, Call& call) {
  CudaFields& fields = record.of.cuda;
  fields.external = call.external.op;
  profiler::deliver(record);
  const auto device = static_cast<uint32_t>(record.device_index);
  if (call.external.annotation != 0 && record.kind != RecordKind::kSynchronization) {
    annotations_.extend(call.external.annotation, device, fields.lane, record.begin_ns,
                        fields.end_ns);
  }
  if (call.has_arrow || call.begin_ns > record.begin_ns) return;
  call.has_arrow = true;
  Record arrow = record;
  arrow.kind = RecordKind::kLaunchArrow;
  arrow.begin_ns = call.begin_ns;
  arrow.of.cuda.end_ns = record.begin_ns;
  arrow.of.cuda.amount = fields.lane;
  arrow.of.cuda.lane = call.thread;
  profiler::deliver(arrow);
}

void Activities::retry_waiting() {
  std::vector<Waiting> still;
  for (Waiting& each : waiting_) {
    Call* call = launches_.find(each.record.of.cuda.correlation, each.record.begin_ns);
    if (call != nullptr) {
      submit_matched(each.record, *call);
    } else if (each.flushes < kMostFlushes) {
      still.push_back(each);
    } else {
      submit_work(each.record, false);
    }
  }
  waiting_ = std::move(still);
}

}  // namespace redline::cupti
