// Work of a known amount inside one recorded window.
//
//   gpu_work launches N TRACE     N launches of one kernel
//   gpu_work streams N TRACE      N launches on each of 8 streams
//   gpu_work graph N TRACE        a graph of 10 kernels, launched N times
//   gpu_work copies BYTES TRACE   to the GPU and back, pageable and pinned, each some bytes more
//   gpu_work clock N TRACE        N kernels with stamps of the host, of events and of the GPU's
//   timer
//
// What was done goes to stdout as one JSON object; exits 3 where there is no GPU.
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cuda_call.h"

namespace {

using gpu_check::realtime_ns;

constexpr int kStreams = 8;
constexpr int kGraphNodes = 10;
constexpr long long kSpinCycles = 20'000;

__global__ void add_one(float* value) { *value += 1; }

__global__ void spin(long long cycles, unsigned long long* began_ns) {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  *began_ns = now;
  const long long end = clock64() + cycles;
  while (clock64() < end) {
  }
}

template <typename T>
T* on_gpu(size_t count) {
  T* memory = nullptr;
  CUDA(cudaMalloc(&memory, count * sizeof(T)));
  return memory;
}

void launches(long count) {
  auto* value = on_gpu<float>(1);
  for (long i = 0; i < count; ++i) add_one<<<1, 1>>>(value);
  CUDA(cudaGetLastError());
  CUDA(cudaDeviceSynchronize());
  std::printf("{\"kernels\": %ld}\n", count);
}

void streams(long count) {
  auto* values = on_gpu<float>(kStreams);
  cudaStream_t all[kStreams];
  for (auto& stream : all) CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (long i = 0; i < count; ++i) {
    for (int s = 0; s < kStreams; ++s) add_one<<<1, 1, 0, all[s]>>>(values + s);
  }
  CUDA(cudaDeviceSynchronize());
  std::printf("{\"kernels\": %ld, \"streams\": %d, \"each\": %ld}\n", count * kStreams, kStreams,
              count);
}

void graph(long count) {
  auto* value = on_gpu<float>(1);
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  for (int node = 0; node < kGraphNodes; ++node) add_one<<<1, 1, 0, stream>>>(value);
  cudaGraph_t nodes;
  CUDA(cudaStreamEndCapture(stream, &nodes));
  cudaGraphExec_t executable;
  CUDA(cudaGraphInstantiate(&executable, nodes, 0));
  for (long i = 0; i < count; ++i) CUDA(cudaGraphLaunch(executable, stream));
  CUDA(cudaStreamSynchronize(stream));
  std::printf("{\"kernels\": %ld, \"graph_launches\": %ld, \"nodes\": %d}\n", count * kGraphNodes,
              count, kGraphNodes);
}

/// Four sizes, so that none can stand for another.
void copies(long bytes) {
  const size_t sizes[] = {size_t(bytes), size_t(bytes) + 4096, size_t(bytes) + 8192,
                          size_t(bytes) + 12288};
  auto* device = on_gpu<char>(sizes[3]);
  std::vector<char> pageable(sizes[3], 1);
  char* pinned = nullptr;
  CUDA(cudaMallocHost(&pinned, sizes[3]));
  std::memset(pinned, 1, sizes[3]);
  CUDA(cudaMemcpy(device, pageable.data(), sizes[0], cudaMemcpyHostToDevice));
  CUDA(cudaMemcpy(pageable.data(), device, sizes[1], cudaMemcpyDeviceToHost));
  CUDA(cudaMemcpy(device, pinned, sizes[2], cudaMemcpyHostToDevice));
  CUDA(cudaMemcpy(pinned, device, sizes[3], cudaMemcpyDeviceToHost));
  CUDA(cudaDeviceSynchronize());
  std::printf(
      "{\"bytes\": {\"Memcpy HtoD (Pageable -> Device)\": %zu, \"Memcpy DtoH (Device -> "
      "Pageable)\": %zu, \"Memcpy HtoD (Pinned -> Device)\": %zu, \"Memcpy DtoH (Device -> "
      "Pinned)\": %zu}}\n",
      sizes[0], sizes[1], sizes[2], sizes[3]);
}

template <typename Number>
std::string list(const std::vector<Number>& numbers) {
  std::string text;
  for (const Number number : numbers) text += (text.empty() ? "" : ", ") + std::to_string(number);
  return "[" + text + "]";
}

/// The events right before each kernel tell when it could begin; the host's stamps enclose it.
void clock_marks(long count) {
  std::vector<int64_t> before, after;
  std::vector<float> events_ms;
  std::vector<cudaEvent_t> events(size_t(count), nullptr);
  for (auto& event : events) CUDA(cudaEventCreate(&event));
  auto* began_ns = on_gpu<unsigned long long>(size_t(count));
  for (long i = 0; i < count; ++i) {
    before.push_back(realtime_ns());
    CUDA(cudaEventRecord(events[size_t(i)]));
    spin<<<1, 1>>>(kSpinCycles, began_ns + i);
    CUDA(cudaDeviceSynchronize());
    after.push_back(realtime_ns());
  }
  for (const auto event : events) {
    float ms = 0;
    CUDA(cudaEventElapsedTime(&ms, events[0], event));
    events_ms.push_back(ms);
  }
  std::vector<unsigned long long> timer(static_cast<size_t>(count));
  CUDA(cudaMemcpy(timer.data(), began_ns, timer.size() * sizeof(timer[0]), cudaMemcpyDefault));
  std::printf("{\"before_ns\": %s, \"after_ns\": %s, \"events_ms\": %s, \"timer_ns\": %s}\n",
              list(before).c_str(), list(after).c_str(), list(events_ms).c_str(),
              list(timer).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, std::function<void(long)>> kinds = {{"launches", launches},
                                                                  {"streams", streams},
                                                                  {"graph", graph},
                                                                  {"copies", copies},
                                                                  {"clock", clock_marks}};
  const auto kind = argc == 4 ? kinds.find(argv[1]) : kinds.end();
  const long amount = argc == 4 ? std::atol(argv[2]) : 0;
  if (kind == kinds.end() || amount < 1) {
    std::fprintf(stderr, "usage: gpu_work launches|streams|graph|copies|clock N TRACE\n");
    return 2;
  }
  gpu_check::need_gpu();
  CUDA(cudaFree(nullptr));
  RECORDER(redline_prepare("{\"host_samples_hz\": 0}"));
  RECORDER(redline_start());
  kind->second(amount);
  RECORDER(redline_stop());
  RECORDER(redline_export(argv[3]));
  return 0;
}
