// The smallest possible copy of NVTX: another tool fills in two functions, push and pop.
#include "profiler/nvtx/nvtx_module.h"

#include <dlfcn.h>

#include <cstdlib>

#include "profiler/nvtx/nvtx_abi.h"

namespace redline::profiler {
namespace {

nvtx::Function g_push = nullptr;
nvtx::Function g_pop = nullptr;

int get_module_functions(int32_t module, nvtx::Function*** table, unsigned* size) {
  static nvtx::Function* core[nvtx::kCoreSize];
  if (module != nvtx::kCore) return 0;
  core[nvtx::kRangePushA] = &g_push;
  core[nvtx::kRangePop] = &g_pop;
  *table = core;
  *size = nvtx::kCoreSize;
  return 1;
}

const void* get_export_table(uint32_t table) {
  static const nvtx::CallbackTable callbacks = {sizeof(callbacks), get_module_functions};
  return table == nvtx::kCallbackTable ? &callbacks : nullptr;
}

NvtxTool load_tool() {
  const char* path = std::getenv("NVTX_INJECTION64_PATH");
  if (path == nullptr || *path == '\0') return {};
  void* library = dlopen(path, RTLD_LAZY);
  if (library == nullptr) return {};
  const auto initialize =
      reinterpret_cast<nvtx::Initialize>(dlsym(library, "InitializeInjectionNvtx2"));
  if (initialize == nullptr || initialize == InitializeInjectionNvtx2) return {};
  if (initialize(get_export_table) == 0 || g_push == nullptr || g_pop == nullptr) return {};
  return {reinterpret_cast<int (*)(const char*)>(g_push), reinterpret_cast<int (*)()>(g_pop)};
}

}  // namespace

const NvtxTool& other_nvtx_tool() {
  static const NvtxTool tool = load_tool();
  return tool;
}

}  // namespace redline::profiler
