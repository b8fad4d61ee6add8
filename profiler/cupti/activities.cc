#include "profiler/cupti/activities.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "profiler/log/text_table.h"
#include "profiler/source/source.h"
#include "trace/emit/name_kinds.h"

namespace redline::cupti {

using profiler::CudaFields;
using profiler::Record;
using profiler::RecordKind;
using profiler::TextId;

namespace {

/// A time so far ahead of now is not of our clock. Unix time, for example, is decades ahead.
constexpr int64_t kFarAheadNs = 3'600'000'000'000;
// Work waits for its call for so many flushes (20 s). In all but the slowest jobs a buffer fills in
// that time, and a flight recorder keeps its records longer.
constexpr int kMostFlushes = 40;
// If the call is hidden, a shown call around it has the same correlation and may still come.
constexpr int kMostFlushesOfHidden = 2;
// An annotation that got no work for so long is written. A flight recorder may run for days, so
// annotations cannot wait for the end.
constexpr int64_t kAnnotationIsOverNs = 10'000'000'000;
constexpr size_t kMostWaiting = size_t{1} << 18;

bool launches_graph(std::string_view function) {
  return function.starts_with("cudaGraphLaunch") || function.starts_with("cuGraphLaunch");
}

int8_t lane_of_device(uint32_t device) {
  return static_cast<int8_t>(std::min<uint32_t>(device, std::numeric_limits<int8_t>::max()));
}

}  // namespace

Record Activities::work(RecordKind kind, uint32_t device, uint32_t stream, uint32_t correlation) {
  Record record;
  record.kind = kind;
  record.device_index = lane_of_device(device);
  CudaFields fields;
  fields.correlation = correlation;
  fields.lane = stream;
  record.of = fields;
  return record;
}

struct Activities::FirstPass {
  Activities& all;
  void on(const ExternalCorrelationRecord& record) { all.see_external(record); }
  void on(const ApiRecord& record) { all.see_call(record); }
  void on(const ContextRecord& record) { all.device_of_context_[record.context] = record.device; }
  void on(const KernelRecord& record) { all.device_of_context_[record.context] = record.device; }
  void on(const CudaEventRecord& record) { all.events_.add(record); }
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
DecodeCounts Activities::read(std::span<const BufferPool::Filled> buffers, NextRecord next,
                              Visitor& visitor) {
  DecodeCounts total;
  for (const auto& [buffer, valid_size] : buffers) {
    total += decode_buffer(buffer, valid_size, library_.version, next, visitor);
  }
  return total;
}

void Activities::add_round(std::span<const BufferPool::Filled> buffers, NextRecord next,
                           bool is_flushed) {
  now_ns_ = monotonic_ns();
  see_generation();
  FirstPass first{*this};
  counts_.decoded += read(buffers, next, first);
  launches_.end_round();
  retry_waiting();
  SecondPass second{*this};
  static_cast<void>(read(buffers, next, second));
  launches_.forget_old();
  events_.end_round();
  if (!is_flushed) return;
  for (Waiting& each : waiting_) ++each.flushes;
  deliver_annotations_before(now_ns_ - kAnnotationIsOverNs);
}

void Activities::finish() {
  see_generation();
  give_up_waiting();
  deliver_annotations();
}

void Activities::deliver_annotations() {
  see_generation();
  deliver_annotations_before(std::numeric_limits<int64_t>::max());
}

void Activities::deliver_annotations_before(int64_t time_ns) {
  for (const GpuAnnotations::Span& span : annotations_.take(time_ns)) {
    Record record = work(RecordKind::kGpuAnnotation, span.device, span.stream, 0);
    record.begin_ns = span.begin_ns;
    record.of.cuda.end_ns = span.end_ns;
    record.of.cuda.external = span.annotation;
    record.name = profiler::intern_name(annotation_names_.find(span.annotation));
    profiler::deliver(record);
  }
}

/// The text table soon forgets texts of an older generation. So our ids of texts are forgotten, and
/// work that waits is delivered now, because it holds such ids.
void Activities::see_generation() {
  const uint32_t generation = profiler::name_generation();
  if (generation == generation_) return;
  generation_ = generation;
  kernels_.clear();
  functions_.clear();
  give_up_waiting();
}

void Activities::give_up_waiting() {
  for (const Waiting& each : waiting_) submit_work(each.record, false);
  waiting_.clear();
}

void Activities::see_external(const ExternalCorrelationRecord& record) {
  if (record.external_kind != kOperatorIds && record.external_kind != kAnnotationIds) return;
  launches_.add_external(record.correlation, record.external_kind == kAnnotationIds,
                         static_cast<uint32_t>(record.external));
}

void Activities::see_call(const ApiRecord& record) {
  const bool is_driver = record.kind == Kind::kDriver;
  const Function called = function(is_driver, record.function);
  if (!called.is_shown) return launches_.add_hidden(record.correlation);
  if (called.launches_graph) graph_launches_.add_launch(record.correlation);
  const int64_t begin_ns = clock_.to_monotonic(record.start);
  // A driver's call from within a runtime's call has the same correlation. The outer call counts.
  if (is_driver && launches_.find(record.correlation, begin_ns) != nullptr) return;
  launches_.add_call(record.correlation, begin_ns, record.thread);
}

bool Activities::set_times(Record& record, uint64_t start, uint64_t end) {
  // When CUPTI had no more room for a GPU's time stamps, it has also given ends before starts.
  if (start == 0 || end < start) {
    ++counts_.incomplete;
    return false;
  }
  record.begin_ns = clock_.to_monotonic(start);
  record.of.cuda.end_ns = clock_.to_monotonic(end);
  const bool is_ours = record.begin_ns > 0 && record.of.cuda.end_ns <= now_ns_ + kFarAheadNs;
  ++(is_ours ? counts_.timed : counts_.other_clock);
  return is_ours;
}

Activities::Function Activities::function(bool is_driver, uint32_t number) {
  const uint64_t key = uint64_t{is_driver} << 32 | number;
  if (const auto known = functions_.find(key); known != functions_.end()) return known->second;
  std::string_view name =
      library_.function_name(is_driver ? kDriverDomain : kRuntimeDomain, number);
  if (name.empty()) name = "INVALID";
  if (!is_driver) name = runtime_function_name(name);
  const bool is_shown = is_driver ? is_shown_driver_function(name) : !is_noise(name);
  return functions_[key] = {profiler::intern_name(name), is_shown, launches_graph(name)};
}

TextId Activities::kernel_id(const char* symbol) {
  const uint64_t key =
      profiler::hash_text(symbol != nullptr ? symbol : "", profiler::TextForm::kName);
  if (const auto known = kernels_.find(key); known != kernels_.end()) return known->second;
  return kernels_[key] = profiler::intern_name(kernel_name(symbol));
}

/// Keeps the kernel of a collective: the note of its operator is found only when its call is known.
void Activities::see_collective(const KernelRecord& record) {
  if (record.name == nullptr || std::strstr(record.name, "nccl") == nullptr) return;
  if (collective_kernels_.size() > kMostWaiting)
    collective_kernels_.clear();  // their calls were lost
  std::string name = kernel_name(record.name);
  if (!trace::is_communication_kernel(name)) return;
  collective_kernels_[{record.correlation, record.graph_node}] = {
      std::move(name), args_of(record, devices_.find(record.device))};
}

void Activities::tell_collective(Record& record, uint32_t op) {
  const auto kernel = collective_kernels_.find({record.of.cuda.correlation, record.of.cuda.amount});
  if (kernel == collective_kernels_.end()) return;
  const CollectiveNote note = collective_notes_.find(op).value_or(CollectiveNote());
  const auto& [name, launch_args] = kernel->second;
  record.of.cuda.args = profiler::intern_args(launch_args + collective_args(name, note));
  collective_kernels_.erase(kernel);
}

TextId Activities::launch_args(const KernelRecord& record) {
  const uint64_t key = args_key(record);
  if (const TextId known = profiler::known_args(key)) return known;
  return profiler::intern_args_as(key, args_of(record, devices_.find(record.device)));
}

void Activities::add(const KernelRecord& kernel) {
  graph_launches_.see_work(kernel.correlation, kernel.graph_node);
  Record record = work(RecordKind::kKernel, kernel.device, kernel.stream, kernel.correlation);
  if (!set_times(record, kernel.start, kernel.end)) return;
  record.name = kernel_id(kernel.name);
  record.of.cuda.args = launch_args(kernel);
  record.of.cuda.amount = kernel.graph_node;
  see_collective(kernel);
  submit_work(record, true);
}

template <typename Transfer>
void Activities::add_transfer(RecordKind kind, const Transfer& transfer, std::string_view name) {
  graph_launches_.see_work(transfer.correlation, transfer.graph_node);
  Record record = work(kind, transfer.device, transfer.stream, transfer.correlation);
  if (!set_times(record, transfer.start, transfer.end)) return;
  record.name = profiler::intern_name(name);
  record.of.cuda.args = profiler::intern_args(args_of(transfer));
  record.of.cuda.amount = transfer.bytes;
  submit_work(record, true);
}

void Activities::add(const MemcpyRecord& copy) {
  add_transfer(RecordKind::kCopy, copy,
               copy_name(copy.copy_kind, copy.source_kind, copy.destination_kind));
}

void Activities::add(const PeerCopyRecord& copy) {
  add_transfer(RecordKind::kCopy, copy,
               copy_name(copy.copy_kind, copy.source_kind, copy.destination_kind));
}

void Activities::add(const MemsetRecord& set) {
  add_transfer(RecordKind::kMemset, set, memset_name(set.memory_kind));
}

void Activities::add(const SynchronizationRecord& sync) {
  const auto context = device_of_context_.find(sync.context);
  const uint32_t device = context != device_of_context_.end() ? context->second : 0;
  const bool has_stream = sync.stream != kNoStream;
  Record record = work(RecordKind::kSynchronization, device,
                       has_stream ? sync.stream : profiler::kDeviceLane, sync.correlation);
  if (!set_times(record, sync.start, sync.end)) return;
  const bool is_of_event = sync.type == 1 || sync.type == 2;
  const RecordedEvent* event =
      is_of_event ? events_.find(sync.context, sync.event, sync.correlation) : nullptr;
  record.name = profiler::intern_name(synchronization_name(sync.type));
  record.of.cuda.args = profiler::intern_args(args_of(sync, device, event));
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
  const uint32_t correlation = record.of.cuda.correlation;
  if (!launches_.is_hidden(correlation)) ++counts_.without_call;
  submit_with(launches_.ids_without_call(correlation), record);
}

void Activities::submit_with(const ExternalIds& ids, Record& record) {
  const CudaFields& fields = record.of.cuda;
  record.of.cuda.external = ids.op;
  if (record.kind == RecordKind::kKernel) tell_collective(record, ids.op);
  profiler::deliver(record);
  if (ids.annotation == 0 || record.kind == RecordKind::kSynchronization) return;
  annotations_.extend(ids.annotation, static_cast<uint32_t>(record.device_index), fields.lane,
                      record.begin_ns, fields.end_ns);
}

void Activities::submit_matched(Record& record, Call& call) {
  submit_with(call.external, record);
  const CudaFields& fields = record.of.cuda;
  if (call.begin_ns > record.begin_ns) ++counts_.begun_before_call;
  if (call.has_arrow) return;
  call.has_arrow = true;
  Record arrow = record;
  arrow.kind = RecordKind::kLaunchArrow;
  // An arrow must not go back in time, and its head must be at its work. So its tail may be early.
  arrow.begin_ns = std::min(call.begin_ns, record.begin_ns);
  arrow.of.cuda.end_ns = record.begin_ns;
  arrow.of.cuda.amount = fields.lane;
  arrow.of.cuda.lane = call.thread;
  profiler::deliver(arrow);
}

void Activities::retry_waiting() {
  // The work of this round needs room, so the oldest work may have to go without its call.
  size_t in_vain = waiting_.size() - std::min(waiting_.size(), kMostWaiting / 2);
  std::vector<Waiting> still;
  for (Waiting& each : waiting_) {
    const uint32_t correlation = each.record.of.cuda.correlation;
    Call* call = launches_.find(correlation, each.record.begin_ns);
    const int most = launches_.is_hidden(correlation) ? kMostFlushesOfHidden : kMostFlushes;
    if (call != nullptr) {
      submit_matched(each.record, *call);
    } else if (each.flushes >= most || in_vain > 0) {
      in_vain -= in_vain > 0 ? 1 : 0;
      submit_work(each.record, false);
    } else {
      still.push_back(each);
    }
  }
  waiting_ = std::move(still);
}

}  // namespace redline::cupti
