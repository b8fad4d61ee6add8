// Stands for a tool such as Nsight Systems, and counts calls.
#include <nvtx3/nvToolsExt.h>

#include <string>

namespace {

std::string g_calls;

int push(const char* message) {
  g_calls += std::string("push ") + message + "\n";
  return 0;
}

int pop() {
  g_calls += "pop\n";
  return 0;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const char* fake_nvtx_tool_calls() {
  return g_calls.c_str();
}

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t get_export_table) {
  const auto* callbacks =
      static_cast<const NvtxExportTableCallbacks*>(get_export_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable core = nullptr;
  unsigned size = 0;
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &core, &size) == 0) return 0;
  *core[NVTX_CBID_CORE_RangePushA] = reinterpret_cast<NvtxFunctionPointer>(push);
  *core[NVTX_CBID_CORE_RangePop] = reinterpret_cast<NvtxFunctionPointer>(pop);
  return 1;
}
