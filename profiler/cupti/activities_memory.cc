// Memory of the GPU: allocations, pools, and the migrations of unified memory.
#include <cstdio>

#include "profiler/cupti/activities.h"
#include "profiler/cupti/activity_text.h"
#include "profiler/source/counters.h"
#include "profiler/source/source.h"

namespace redline::cupti {

using profiler::Record;
using profiler::RecordKind;

void Activities::add(const MemoryRecord& memory) {
  const bool has_stream = memory.stream != kNoStream && memory.is_async != 0;
  const uint32_t lane = has_stream ? memory.stream : profiler::kDeviceLane;
  Record record = work(RecordKind::kGpuMemory, memory.device, lane, memory.correlation);
  if (!set_times(record, memory.time, memory.time)) return;
  record.name = profiler::intern_name(memory_operation_name(memory.operation, memory.memory_kind));
  record.of.cuda.args = profiler::intern_args(args_of(memory));
  if (const Call* call = launches_.find(memory.correlation, record.begin_ns)) {
    record.of.cuda.external = call->external.op;
  }
  profiler::deliver(record);
  if (memory.pool_type == kOwnPool) {
    count_pool(memory.device, memory.pool_address, memory.pool_size, memory.pool_used,
               record.begin_ns);
  }
}

void Activities::add(const MemoryPoolRecord& pool) {
  Record record =
      work(RecordKind::kGpuMemory, pool.device, profiler::kDeviceLane, pool.correlation);
  if (!set_times(record, pool.time, pool.time)) return;
  record.name = profiler::intern_name(pool_operation_name(pool.operation));
  record.of.cuda.args = profiler::intern_args(args_of(pool));
  profiler::deliver(record);
  if (pool.pool_type == kOwnPool) {
    count_pool(pool.device, pool.address, pool.size, pool.used, record.begin_ns);
  }
}

void Activities::count_pool(uint32_t device, uint64_t address, uint64_t size, uint64_t used,
                            int64_t time_ns) {
  char name[64];
  std::snprintf(name, sizeof(name), "GPU %u memory pool %#llx", device,
                static_cast<unsigned long long>(address));
  profiler::deliver(profiler::record_of({name, "reserved", static_cast<double>(size)}, time_ns));
  profiler::deliver(profiler::record_of({name, "used", static_cast<double>(used)}, time_ns));
}

void Activities::add(const UnifiedMemoryRecord& migration) {
  const bool to_host = migration.counter == kUnifiedDeviceToHost;
  const uint32_t device = migration.counter == kUnifiedCpuFaults ? 0
                          : to_host                              ? migration.source
                                                                 : migration.destination;
  Record record = work(RecordKind::kMigration, device, profiler::kDeviceLane, 0);
  // A page fault of the CPU has only a start.
  const uint64_t end = migration.end != 0 ? migration.end : migration.start;
  if (!set_times(record, migration.start, end)) return;
  record.name = profiler::intern_name(unified_memory_name(migration.counter));
  record.of.cuda.args = profiler::intern_args(args_of(migration));
  const bool has_bytes = migration.counter == kUnifiedHostToDevice || to_host;
  record.of.cuda.amount = has_bytes ? migration.value : 0;
  profiler::deliver(record);
}

}  // namespace redline::cupti
