// LibTorch's allocators report to the profiler state of the calling thread. There is only one such
// state, which torch.profiler uses. So we redirect the reports, and pass them on.
#include <c10/core/Allocator.h>
#include <c10/core/Device.h>

#include <atomic>
#include <cstdio>

#include "profiler/source/source.h"
#include "profiler/torch/attach.h"
#include "profiler/torch/call_redirect.h"

namespace redline::profiler {
namespace {

std::atomic<bool> g_is_on = false;

bool is_wanted() { return g_is_on.load(std::memory_order_relaxed) && is_recording(); }

Record memory_record(int64_t bytes, size_t allocated, size_t reserved, c10::Device device) {
  Record record;
  record.begin_ns = monotonic_ns();
  record.of = MemoryFields{
      .address = 0, .bytes = bytes, .total_allocated = allocated, .total_reserved = reserved};
  record.kind = RecordKind::kMemory;
  record.device_type = static_cast<int8_t>(device.type());
  record.device_index = device.index();
  return record;
}

bool memory_profiling_enabled() { return is_wanted() || c10::memoryProfilingEnabled(); }

void report_memory_usage(void* address, int64_t bytes, size_t allocated, size_t reserved,
                         c10::Device device) {
  if (is_wanted()) {
    Record record = memory_record(bytes, allocated, reserved, device);
    record.of.memory.address = reinterpret_cast<uint64_t>(address);
    submit(record);
  }
  c10::reportMemoryUsageToProfiler(address, bytes, allocated, reserved, device);
}

void report_out_of_memory(int64_t bytes, size_t allocated, size_t reserved, c10::Device device) {
  if (is_wanted()) {
    Record record = memory_record(bytes, allocated, reserved, device);
    record.kind = RecordKind::kOutOfMemory;
    submit(record);
  }
  c10::reportOutOfMemoryToProfiler(bytes, allocated, reserved, device);
}

class TorchMemory final : public Source {
 public:
  void enable(const RecorderOptions& options) noexcept override {
    if (!options.profile_memory) return;
    g_is_on = true;
    const bool is_served = reports_.enable() & out_of_memory_.enable() & enabled_.enable();
    if (!is_served) say_unserved();
  }

  void disable() noexcept override {
    g_is_on = false;
    enabled_.disable();
    out_of_memory_.disable();
    reports_.disable();
  }

 private:
  static void say_unserved() {
    add_entry("redline", R"({"memory_events": "none: this LibTorch does not let them be seen"})");
    std::fprintf(stderr, "redline: memory events: this LibTorch does not let them be seen\n");
  }

  CallRedirect enabled_{"_ZN3c1022memoryProfilingEnabledEv",
                        reinterpret_cast<void*>(&memory_profiling_enabled)};
  CallRedirect reports_{"_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE",
                        reinterpret_cast<void*>(&report_memory_usage)};
  CallRedirect out_of_memory_{"_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE",
                              reinterpret_cast<void*>(&report_out_of_memory)};
};

}  // namespace

void attach_torch_memory() {
  static TorchMemory source;
  add_source(&source);
}

}  // namespace redline::profiler
