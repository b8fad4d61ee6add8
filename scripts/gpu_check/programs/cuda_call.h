// How the test programs use CUDA and the recorder: what fails ends the program with one line.
#pragma once

#include <cuda_runtime.h>
#include <profiler/c_api.h>
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace gpu_check {

/// Exit status of a machine that cannot run the programs.
inline constexpr int kNoGpu = 3;

inline void cuda(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(status));
  std::exit(1);
}
#define CUDA(call) ::gpu_check::cuda((call), #call)

inline void recorder(int status, const char* call) {
  if (status == 0) return;
  std::fprintf(stderr, "%s: %s\n", call, redline_last_error());
  std::exit(1);
}
#define RECORDER(call) ::gpu_check::recorder((call), #call)

/// The first call of CUDA.
inline void need_gpu() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count > 0) return;
  std::fprintf(stderr, "no GPU: %s\n",
               status != cudaSuccess ? cudaGetErrorString(status) : "cudaGetDeviceCount says 0");
  std::exit(kNoGpu);
}

inline int64_t realtime_ns() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

}  // namespace gpu_check
