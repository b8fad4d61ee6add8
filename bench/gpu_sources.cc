// Measures what the recorder's GPU sources cost. It runs the real code on stubs of CUDA's
// libraries, so the time that CUPTI, NCCL and the driver take is not in the figures.
//
//   gpu_sources launches [COUNT] [PER_SECOND]   a window with so many launches and their kernels
//   gpu_sources nccl [COUNT]                    collectives by NCCL's profiler plugin, in a window
//   gpu_sources nvml [COUNT]                    readings of one GPU by NVML, as counters
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "machine/nvml/gpu_reading.h"
#include "profiler/c_api.h"
#include "profiler/nccl/nccl_abi.h"
#include "profiler/source/counters.h"
#include "tests/stubs/stub_launch.h"
#include "tests/stubs/stubs.h"

namespace {

using namespace redline;
using nlohmann::json;

double seconds_since(int64_t begin_ns) { return 1e-9 * double(monotonic_ns() - begin_ns); }

/// User and system time of this thread, or of the process.
double cpu_ns(int of = RUSAGE_THREAD) {
  rusage used;
  getrusage(of, &used);
  const auto ns = [](timeval time) {
    return 1e9 * double(time.tv_sec) + 1e3 * double(time.tv_usec);
  };
  return ns(used.ru_utime) + ns(used.ru_stime);
}

void begin_window() {
  redline_prepare(R"({"directory": "/tmp", "host_samples_hz": 0})");
  redline_start();
}

/// Ends the window. Gives how many events of a category its trace has, and what was lost.
json end_window(std::string_view category) {
  const std::string path = "/tmp/gpu_sources." + std::to_string(getpid()) + ".json";
  const int64_t begun = monotonic_ns();
  redline_stop();
  json result = {{"stop_s", seconds_since(begun)},
                 {"recorders_threads_ns", cpu_ns(RUSAGE_SELF) - cpu_ns()}};
  redline_export(path.c_str());
  std::ifstream file(path);
  const std::string mark = "\"cat\": \"" + std::string(category) + "\"";
  uint64_t events = 0;
  for (std::string line; std::getline(file, line);) {
    events += line.find(mark) != std::string::npos ? 1 : 0;
    if (!line.starts_with("\"redline\"")) continue;
    line.erase(line.find_last_not_of(", \n") + 1);
    result["redline"] = json::parse("{" + line + "}")["redline"];
  }
  std::remove(path.c_str());
  result["events"] = events;
  return result;
}

json launches(uint32_t count, int64_t per_second) {
  stub::add_device({.name = "NVIDIA H200", .memory = 1, .attributes = {}});
  stub::name_function(cupti::kRuntimeDomain, stub::kLaunchKernel, "cudaLaunchKernel_v7000");
  begin_window();
  const int64_t begun = monotonic_ns();
  for (uint32_t i = 1; i <= count; ++i) {
    stub::launch(i, 1);
    while (monotonic_ns() < begun + int64_t{i} * 1'000'000'000 / per_second) {
    }
  }
  const double loop_s = seconds_since(begun);
  json result = end_window("kernel");
  result["loop_s"] = loop_s;
  result["ns_a_launch_on_recorders_threads"] = result["recorders_threads_ns"].get<double>() / count;
  return result;
}

/// Makes the calls that NCCL makes for an all-reduce between two nodes: a group, the collective,
/// its channel on the GPU and its transfer by the proxy.
void all_reduce(void* context, uint64_t seq) {
  using namespace nccl;
  const auto start = [context](EventType type, void* parent, const auto& fill) {
    DescrV5 descr;
    std::memset(static_cast<void*>(&descr), 0, sizeof(descr));
    descr.type = type;
    descr.parent = parent;
    fill(descr);
    void* handle = nullptr;
    ncclProfiler_v5.start_event(context, &handle, &descr);
    return handle;
  };
  void* group = start(kGroup, nullptr, [](DescrV5&) {});
  void* coll = start(kColl, group, [seq](DescrV5& descr) {
    descr.coll.seq = seq;
    descr.coll.func = "AllReduce";
    descr.coll.count = 1024;
    descr.coll.datatype = "ncclBfloat16";
    descr.coll.channels = 1;
    descr.coll.algo = "RING";
    descr.coll.proto = "LL";
  });
  ncclProfiler_v5.stop_event(coll);
  ncclProfiler_v5.stop_event(group);
  void* channel = start(kKernelCh, coll, [](DescrV5& descr) { descr.kernel_ch = {0, 1000}; });
  void* proxy = start(kProxyOp, coll,
                      [](DescrV5& descr) { descr.proxy_op = {getpid(), 0, 1, 1, 524288, 1}; });
  StateArgs stamp = {.ptimer = 2000};
  ncclProfiler_v5.record_event_state(channel, kKernelChStop, &stamp);
  ncclProfiler_v5.stop_event(channel);
  ncclProfiler_v5.stop_event(proxy);
}

/// Measures twice, within a window and outside.
json nccl_plugin(uint64_t count) {
  static int mask = 0;  // NCCL has one, too
  void* context = nullptr;
  ncclProfiler_v5.init(&context, 1, &mask, "tp", 2, 16, 0, nullptr);
  const auto ns_each = [&] {
    const double begun = cpu_ns();
    for (uint64_t i = 0; i < count; ++i) all_reduce(context, i);
    return (cpu_ns() - begun) / double(count);
  };
  const double outside = ns_each();
  begin_window();
  const double within = ns_each();
  json result = end_window("nccl collective");
  result["ns_a_collective"] = within;
  result["ns_a_collective_outside_windows"] = outside;
  return result;
}

json nvml_readings(uint64_t count) {
  const nvml::Library library(REDLINE_STUB_NVML);
  nvmlDevice_t gpu = nullptr;
  if (REDLINE_NVML(library, nvmlDeviceGetHandleByIndex_v2, 0U, &gpu) != nvml::kSuccess) return {};
  nvml::GpuReader reader(library, gpu);
  nvml::GpuReading before = reader.read(false);
  begin_window();
  const double begun = cpu_ns();
  for (uint64_t i = 0; i < count; ++i) {
    const nvml::GpuReading now = reader.read(false);
    profiler::submit_samples(profiler::gpu_counters(0, before, now), now.time_ns);
    before = now;
  }
  const double spent = cpu_ns() - begun;
  json result = end_window("counter");
  result["ns_a_reading"] = spent / double(count);
  return result;
}

}  // namespace

int main(int count, char** words) {
  const std::string_view what = count > 1 ? words[1] : "";
  const auto number = [&](int place, long by_default) {
    return count > place ? std::atol(words[place]) : by_default;
  };
  json result;
  if (what == "launches") {
    result = launches(static_cast<uint32_t>(number(2, 1'000'000)), number(3, 200'000));
  } else if (what == "nccl") {
    result = nccl_plugin(static_cast<uint64_t>(number(2, 20'000)));
  } else if (what == "nvml") {
    result = nvml_readings(static_cast<uint64_t>(number(2, 2'000)));
  } else {
    std::fputs("usage: gpu_sources launches [COUNT] [PER_SECOND] | nccl [COUNT] | nvml [COUNT]\n",
               stderr);
    return 2;
  }
  std::puts(result.dump(1).c_str());
  return 0;
}
