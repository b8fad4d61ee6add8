#include "profiler/cupti/stream_names.h"

#include "profiler/cupti/testing_window.h"
#include "profiler/nvtx/nvtx_abi.h"

namespace redline::cupti {
namespace {

using nlohmann::json;

// A copy of NVTX for the tool. It has only the functions that name streams.
nvtx::Function g_name_cu_stream = nullptr;
nvtx::Function g_name_cuda_stream = nullptr;

int get_module_functions(int32_t module, nvtx::Function*** table, unsigned* size) {
  static nvtx::Function* driver[8] = {};
  static nvtx::Function* runtime[8] = {};
  driver[nvtx::kNameCuStreamW] = &g_name_cu_stream;
  runtime[nvtx::kNameCudaStreamA] = &g_name_cuda_stream;
  if (module != nvtx::kCuda && module != nvtx::kCudaRuntime) return 0;
  *table = module == nvtx::kCuda ? driver : runtime;
  *size = 8;
  return 1;
}

const void* get_export_table(uint32_t) {
  static const nvtx::CallbackTable callbacks = {sizeof(callbacks), get_module_functions};
  return &callbacks;
}

/// A stream's handle in the form of the stubs, which have device and number in it.
void* stream(uint32_t device, uint32_t number) {
  return reinterpret_cast<void*>(uintptr_t{device} << 32 | number);
}

TEST_F(GpuWindow, StreamsHaveTheNamesThatTheProgramGaveThem) {
  stub::add_device(a100());
  ASSERT_EQ(InitializeInjectionNvtx2(get_export_table), 1);
  reinterpret_cast<void (*)(void*, const char*)>(g_name_cuda_stream)(stream(0, 7), "was");
  reinterpret_cast<void (*)(void*, const char*)>(g_name_cuda_stream)(stream(0, 7), "\"copies\"");
  reinterpret_cast<void (*)(void*, const wchar_t*)>(g_name_cu_stream)(stream(1, 20), L"größer");
  begin();
  for (const auto& [device, number] : {std::pair{0U, 7U}, {0U, 20U}, {1U, 20U}}) {
    KernelRecord work = kernel(1, now());
    work.device = device;
    work.stream = number;
    stub::emit_record(work);
  }
  std::map<std::pair<int, int>, std::string> names;
  const json trace = end();
  for (const json& event : trace["traceEvents"]) {
    if (event["name"] != "thread_name") continue;
    names[{event["pid"], event["tid"]}] = event["args"]["name"];
  }
  EXPECT_EQ((names[{0, 7}]), "stream 7 \"copies\"");
  EXPECT_EQ((names[{0, 20}]), "stream 20 ");
  EXPECT_EQ((names[{1, 20}]), "stream 20 größer");
}

}  // namespace
}  // namespace redline::cupti
