// Calls CUDA's driver, which is loaded at run time, and the recorder. A call that fails ends the
// program with one line.
//
// The programs are built without CUDA and run on machines that may have no compiler. So they only
// call the driver, and their kernels are PTX, which the driver compiles.
#pragma once

#include <dlfcn.h>
#include <profiler/c_api.h>
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace gpu_check {

/// The exit status on a machine without a GPU.
inline constexpr int kNoGpu = 3;

using Handle = void*;  // CUcontext, CUmodule, CUfunction, CUstream, CUevent, CUgraph, CUgraphExec
using Address = uint64_t;  // CUdeviceptr

[[noreturn]] inline void end(int status, const char* call, const char* why) {
  std::fprintf(stderr, "%s: %s\n", call, why);
  std::exit(status);
}

inline void recorder(int status, const char* call) {
  if (status != 0) end(1, call, redline_last_error());
}
#define RECORDER(call) ::gpu_check::recorder((call), #call)

class Driver {
 public:
  /// Makes the first calls of CUDA, and a context on the first GPU.
  Driver() {
    library_ = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (library_ == nullptr) end(kNoGpu, "no GPU", "libcuda.so.1 is not installed");
    int count = 0, device = 0;
    const int status = try_call("cuInit", 0U);
    if (status != 0) {
      char why[64];
      std::snprintf(why, sizeof(why), "cuInit gives error %d", status);
      end(kNoGpu, "no GPU", why);
    }
    call("cuDeviceGetCount", &count);
    if (count == 0) end(kNoGpu, "no GPU", "none is visible");
    call("cuDeviceGet", &device, 0);
    Handle context = nullptr;
    call("cuDevicePrimaryCtxRetain", &context, device);
    call("cuCtxSetCurrent", context);
    call("cuModuleLoadData", &module_, kPtx);
  }

  template <typename... Arguments>
  [[nodiscard]] int try_call(const char* name, Arguments... arguments) const {
    auto* function = reinterpret_cast<int (*)(Arguments...)>(dlsym(library_, name));
    if (function == nullptr) end(1, name, "libcuda.so.1 does not have it");
    return function(arguments...);
  }
  template <typename... Arguments>
  void call(const char* name, Arguments... arguments) const {
    const int status = try_call(name, arguments...);
    if (status == 0) return;
    const char* text = "unknown error";
    static_cast<void>(try_call("cuGetErrorString", status, &text));
    end(1, name, text);
  }

  [[nodiscard]] Address memory(size_t bytes) const {
    Address address = 0;
    call("cuMemAlloc_v2", &address, bytes);
    return address;
  }
  [[nodiscard]] Handle stream() const {
    constexpr unsigned kNonBlocking = 1;
    Handle made = nullptr;
    call("cuStreamCreate", &made, kNonBlocking);
    return made;
  }
  [[nodiscard]] Handle kernel(const char* name) const {
    Handle found = nullptr;
    call("cuModuleGetFunction", &found, module_, name);
    return found;
  }
  /// Launches one block of one thread.
  void launch(Handle kernel, Handle stream, void** arguments) const {
    call("cuLaunchKernel", kernel, 1U, 1U, 1U, 1U, 1U, 1U, 0U, stream, arguments,
         static_cast<void**>(nullptr));
  }
  void synchronize() const { call("cuCtxSynchronize"); }

  /// Two kernels: add_one(float*), and spin(cycles, where to store its begin by the GPU's timer).
  static constexpr const char* kPtx = R"(
.version 6.0
.target sm_50
.address_size 64
.visible .entry add_one(.param .u64 value) {
  .reg .b64 %rd<3>;
  .reg .f32 %f<3>;
  ld.param.u64 %rd1, [value];
  cvta.to.global.u64 %rd2, %rd1;
  ld.global.f32 %f1, [%rd2];
  add.f32 %f2, %f1, 0f3F800000;
  st.global.f32 [%rd2], %f2;
  ret;
}
.visible .entry spin(.param .u64 cycles, .param .u64 began) {
  .reg .b64 %rd<8>;
  .reg .pred %p<2>;
  ld.param.u64 %rd1, [cycles];
  ld.param.u64 %rd2, [began];
  cvta.to.global.u64 %rd3, %rd2;
  mov.u64 %rd4, %globaltimer;
  st.global.u64 [%rd3], %rd4;
  mov.u64 %rd5, %clock64;
  add.s64 %rd6, %rd5, %rd1;
again:
  mov.u64 %rd7, %clock64;
  setp.lt.s64 %p1, %rd7, %rd6;
  @%p1 bra again;
  ret;
}
)";

 private:
  Handle library_ = nullptr;
  Handle module_ = nullptr;
};

inline int64_t realtime_ns() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

}  // namespace gpu_check
