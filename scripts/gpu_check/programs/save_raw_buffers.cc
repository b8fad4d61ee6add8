// Does some of each kind of GPU work, and saves the buffers that CUPTI filled meanwhile as they
// are.
//
//   save_raw_buffers FILE     prints the numbers of buffers and bytes as JSON
//
// It exits with status 3 if there is no GPU.
#include <dlfcn.h>
#include <profiler/cupti/cupti_abi.h>

#include <cstddef>
#include <mutex>
#include <vector>

#include "cuda_driver.h"
#include "raw_buffers.h"

namespace {

using gpu_check::Address;
using gpu_check::Driver;
using gpu_check::Handle;
using namespace redline::cupti;

constexpr size_t kBufferBytes = size_t{1} << 16;  // small, so that there are several

std::mutex g_mutex;
gpu_check::RawBuffers g_raw;

void requested(uint8_t** buffer, size_t* size, size_t* most_records) {
  *buffer = static_cast<uint8_t*>(std::calloc(1, kBufferBytes));
  *size = kBufferBytes;
  *most_records = 0;
}

void completed(void*, uint32_t, uint8_t* buffer, size_t, size_t valid_size) {
  {
    const std::lock_guard lock(g_mutex);
    if (valid_size > 0) g_raw.buffers.emplace_back(buffer, buffer + valid_size);
  }
  std::free(buffer);
}

struct Cupti {
  void* library = nullptr;

  template <typename... Arguments>
  Result try_call(const char* name, Arguments... arguments) const {
    auto* function = reinterpret_cast<Result (*)(Arguments...)>(dlsym(library, name));
    return function != nullptr ? function(arguments...) : -1;
  }
  template <typename... Arguments>
  void call(const char* name, Arguments... arguments) const {
    const Result result = try_call(name, arguments...);
    if (result == kSuccess) return;
    std::fprintf(stderr, "%s: CUPTI error %d\n", name, result);
    std::exit(1);
  }
};

Cupti open_cupti() {
  for (const char* name : {"libcupti.so.13", "libcupti.so.12", "libcupti.so"}) {
    if (void* library = dlopen(name, RTLD_LAZY)) return {library};
  }
  std::fprintf(stderr, "no libcupti.so: set LD_LIBRARY_PATH\n");
  std::exit(1);
}

/// Runs kernels on two streams, in a graph and outside, under an operator's id; also copies, a
/// memset, events, and memory of a pool.
void work(const Driver& driver, const Cupti& cupti) {
  constexpr size_t kBytes = 16384;
  constexpr unsigned kCaptureOfThread = 1;
  Address device = driver.memory(kBytes);
  const Handle stream = driver.stream(), add_one = driver.kernel("add_one");
  std::vector<char> host(kBytes);
  void* arguments[] = {&device};
  Handle event = nullptr, nodes = nullptr, graph = nullptr;
  driver.call("cuEventCreate", &event, 0U);
  driver.call("cuMemcpyHtoD_v2", device, static_cast<const void*>(host.data()), kBytes);
  driver.call("cuMemsetD8Async", device, static_cast<unsigned char>(0), kBytes, stream);
  for (uint64_t i = 0; i < 200; ++i) {
    cupti.call("cuptiActivityPushExternalCorrelationId", kOperatorIds, i + 1);
    driver.launch(add_one, stream, arguments);
    driver.launch(add_one, nullptr, arguments);
    uint64_t last = 0;
    cupti.call("cuptiActivityPopExternalCorrelationId", kOperatorIds, &last);
  }
  driver.call("cuStreamBeginCapture_v2", stream, kCaptureOfThread);
  for (int i = 0; i < 4; ++i) driver.launch(add_one, stream, arguments);
  driver.call("cuStreamEndCapture", stream, &nodes);
  driver.call("cuGraphInstantiateWithFlags", &graph, nodes, 0ULL);
  driver.call("cuGraphLaunch", graph, stream);
  driver.call("cuEventRecord", event, stream);
  driver.call("cuStreamWaitEvent", Handle(), event, 0U);
  driver.call("cuMemcpyDtoH_v2", static_cast<void*>(host.data()), device, kBytes);
  Address pooled = 0;
  driver.call("cuMemAllocAsync", &pooled, kBytes, stream);
  driver.call("cuMemFreeAsync", pooled, stream);
  driver.call("cuStreamSynchronize", stream);
  driver.synchronize();
}

/// Keeps the names to which kernels' records point.
void keep_names(const Cupti& cupti) {
  for (auto& buffer : g_raw.buffers) {
    uint8_t* record = nullptr;
    for (;;) {
      if (cupti.try_call("cuptiActivityGetNextRecord", buffer.data(), buffer.size(), &record) !=
          kSuccess) {
        break;
      }
      Kind kind;
      std::memcpy(&kind, record, sizeof(kind));
      if (kind != Kind::kConcurrentKernel && kind != Kind::kKernel) continue;
      KernelRecord kernel;
      std::memcpy(static_cast<void*>(&kernel), record, offsetof(KernelRecord, of_later_versions));
      if (kernel.name != nullptr) {
        g_raw.names[reinterpret_cast<uint64_t>(kernel.name)] = kernel.name;
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: save_raw_buffers FILE\n");
    return 2;
  }
  const Driver driver;
  const Cupti cupti = open_cupti();
  cupti.call("cuptiGetVersion", &g_raw.version);
  cupti.call("cuptiActivityRegisterCallbacks", &requested, &completed);
  int refused = 0;  // not every GPU supports all of them
  for (const uint32_t kind :
       {1u, 2u, 4u, 5u, 9u, 10u, 17u, 20u, 22u, 36u, 37u, 38u, 39u, 49u, 50u}) {
    if (cupti.try_call("cuptiActivityEnable", kind) != kSuccess) ++refused;
  }
  work(driver, cupti);
  cupti.call("cuptiActivityFlushAll", uint32_t{0});
  keep_names(cupti);
  if (!g_raw.save(argv[1])) {
    std::fprintf(stderr, "%s: cannot write\n", argv[1]);
    return 1;
  }
  size_t bytes = 0;
  for (const auto& buffer : g_raw.buffers) bytes += buffer.size();
  std::printf(
      "{\"cupti\": %u, \"buffers\": %zu, \"bytes\": %zu, \"names\": %zu, \"refused\": %d}\n",
      g_raw.version, g_raw.buffers.size(), bytes, g_raw.names.size(), refused);
  return 0;
}
