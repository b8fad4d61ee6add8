// Both sides of NVTX: the copies of it whose functions we set as their tool, and the other tool of
// this process, such as Nsight Systems, for what redline::range shows it.
#pragma once

#include "profiler/nvtx/nvtx_abi.h"

namespace redline::profiler {

class NvtxModule {
 public:
  NvtxModule(const nvtx::CallbackTable& callbacks, int32_t module) {
    if (callbacks.get_module_functions(module, &table_, &size_) == 0) size_ = 0;
  }

  template <typename Handler>
  void set(unsigned number, Handler handler) const {
    if (number < size_ && table_[number] != nullptr) {
      *table_[number] = reinterpret_cast<nvtx::Function>(handler);
    }
  }

 private:
  nvtx::Function** table_ = nullptr;
  unsigned size_ = 0;
};

/// Streams that are named by CUDA's driver API or runtime API.
void serve_stream_names(const NvtxModule& driver, const NvtxModule& runtime);

struct NvtxTool {
  int (*push)(const char* message) = nullptr;  ///< null: there is no tool, or it is this library
  int (*pop)() = nullptr;
};

/// The tool that NVTX_INJECTION64_PATH names, loaded at the first call.
[[nodiscard]] const NvtxTool& other_nvtx_tool();

}  // namespace redline::profiler
