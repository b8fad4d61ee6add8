// Some of each kind of GPU work, and the buffers that CUPTI filled meanwhile, as they are.
//
//   save_raw_buffers FILE     prints the numbers of buffers and bytes as JSON; exits 3 without a
//   GPU
#include <dlfcn.h>
#include <profiler/cupti/cupti_abi.h>

#include <mutex>

#include "cuda_call.h"
#include "raw_buffers.h"

namespace {

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

__global__ void fill(float* values) { values[blockIdx.x * blockDim.x + threadIdx.x] = 1; }
template <typename T>
__global__ void scale(T* values, T by) {
  values[threadIdx.x] *= by;
}

void work() {
  constexpr size_t kCount = 4096;
  float* device = nullptr;
  CUDA(cudaMalloc(&device, kCount * sizeof(float)));
  std::vector<float> host(kCount);
  cudaStream_t stream;
  cudaEvent_t event;
  CUDA(cudaStreamCreate(&stream));
  CUDA(cudaEventCreate(&event));
  CUDA(cudaMemcpy(device, host.data(), kCount * sizeof(float), cudaMemcpyHostToDevice));
  CUDA(cudaMemsetAsync(device, 0, kCount, stream));
  for (int i = 0; i < 200; ++i) {
    fill<<<kCount / 128, 128, 0, stream>>>(device);
    scale<float><<<1, 64, 1024>>>(device, 2);
  }
  CUDA(cudaEventRecord(event, stream));
  CUDA(cudaStreamWaitEvent(nullptr, event, 0));
  CUDA(cudaMemcpy(host.data(), device, kCount * sizeof(float), cudaMemcpyDeviceToHost));
  void* pooled = nullptr;
  CUDA(cudaMallocAsync(&pooled, kCount, stream));
  CUDA(cudaFreeAsync(pooled, stream));
  CUDA(cudaStreamSynchronize(stream));
  CUDA(cudaDeviceSynchronize());
}

/// The names that kernels point to.
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
      std::memcpy(&kernel, record, offsetof(KernelRecord, of_later_versions));
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
  gpu_check::need_gpu();
  const Cupti cupti = open_cupti();
  cupti.call("cuptiGetVersion", &g_raw.version);
  cupti.call("cuptiActivityRegisterCallbacks", &requested, &completed);
  int refused = 0;  // not every GPU has all of them
  for (const uint32_t kind : {1u, 2u, 4u, 5u, 9u, 10u, 17u, 20u, 22u, 36u, 37u, 38u, 49u, 50u}) {
    if (cupti.try_call("cuptiActivityEnable", kind) != kSuccess) ++refused;
  }
  work();
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
