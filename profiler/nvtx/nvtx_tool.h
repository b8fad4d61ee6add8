// The other NVTX tool of this process, such as Nsight Systems, for what redline::range shows it.
#pragma once

namespace redline::profiler {

struct NvtxTool {
  int (*push)(const char* message) = nullptr;  ///< null: there is no tool, or it is this library
  int (*pop)() = nullptr;
};

/// The tool that NVTX_INJECTION64_PATH names, loaded at the first call.
[[nodiscard]] const NvtxTool& other_nvtx_tool();

}  // namespace redline::profiler
