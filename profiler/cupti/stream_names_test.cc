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
  const std::pair<const char*, void*> not_told[] = {{"cuptiGetStreamIdEx", stream(0, 20)},
                                                    {"cuptiGetDeviceId", stream(0, 20)}};
  for (const auto& [function, handle] : not_told) {
    stub::fail_cupti(function, 999);
    reinterpret_cast<void (*)(void*, const char*)>(g_name_cuda_stream)(handle, function);
    stub::fail_cupti(function, 0);
  }
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

TEST_F(GpuWindow, OnlySoManyStreamsHaveNames) {
  StreamNames names;
  for (uint32_t i = 0; i <= StreamNames::kMost; ++i) names.add(stream(0, i), "worker");
  begin();
  names.deliver_all();
  KernelRecord work = kernel(1, now());
  for (const uint32_t number : {0U, static_cast<uint32_t>(StreamNames::kMost) - 1,
                                static_cast<uint32_t>(StreamNames::kMost)}) {
    work.stream = number;
    stub::emit_record(work);
  }
  std::map<int, std::string> found;
  const json trace = end();
  for (const json& event : trace["traceEvents"]) {
    if (event["name"] == "thread_name" && event["pid"] == 0) {
      found[event["tid"]] = event["args"]["name"];
    }
  }
  EXPECT_EQ(found[0], "stream 0 worker");
  EXPECT_EQ(found[1023], "stream 1023 worker");
  EXPECT_EQ(found[1024], "stream 1024 ");
}

}  // namespace
}  // namespace redline::cupti
