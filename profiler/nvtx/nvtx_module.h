// Both sides of NVTX. We are the tool of copies of NVTX in this process, and set their functions.
// If the process has another tool, such as Nsight Systems, redline::range shows it our ranges.
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

/// Sets our functions for streams that a program names by CUDA's driver API or runtime API.
void serve_stream_names(const NvtxModule& driver, const NvtxModule& runtime);

struct NvtxTool {
  int (*push)(const char* message) = nullptr;  ///< null: there is no tool, or it is this library
  int (*pop)() = nullptr;
};

/// The tool that NVTX_INJECTION64_PATH names. The first call loads it.
[[nodiscard]] const NvtxTool& other_nvtx_tool();

}  // namespace redline::profiler
