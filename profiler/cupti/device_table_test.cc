// What the driver and the runtime of CUDA tell of the GPUs.
#include "profiler/cupti/device_table.h"

#include <sys/wait.h>
#include <unistd.h>

#include "profiler/cupti/testing_window.h"
#include "profiler/source/gpu_work.h"

namespace {
int g_runtime_result = 0;
}

/// Stands for CUDA's runtime, which a program may have linked in.
extern "C" __attribute__((visibility("default"))) int cudaRuntimeGetVersion(int* version) {
  *version = 13020;
  return g_runtime_result;
}

namespace redline::cupti {
namespace {

using nlohmann::json;
using profiler::gpus_in_use;

TEST_F(GpuWindow, GpusAreInUseOnceTheProcessHasWorkThere) {
  stub::add_device(a100());
  set("REDLINE_STUB_ACTIVE", "0");
  EXPECT_TRUE(gpus_in_use().empty());
  set("REDLINE_STUB_ACTIVE", "1");
  const auto used = gpus_in_use();
  stub::set_cuda_initialized(false);
  EXPECT_TRUE(gpus_in_use().empty()) << "nobody asks a driver that has not begun";
  ASSERT_EQ(used.size(), 2U);
  for (const int device : {0, 1}) {
    EXPECT_EQ(used[static_cast<size_t>(device)].device, device);
    EXPECT_EQ(used[static_cast<size_t>(device)].pci_bus,
              "0000:0" + std::to_string(device) + ":00.0");
  }
}

TEST_F(GpuWindow, CudaIsInUseAsSoonAsItBegins) {
  EXPECT_TRUE(uses_cuda());
  stub::set_cuda_initialized(false);
  EXPECT_FALSE(uses_cuda());
  const pid_t child = fork();  // a beginning is for ever
  if (child == 0) {
    profiler::see_cuda_start();
    _exit(uses_cuda() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(GpuWindow, DevicesAreThoseThatTheDriverTells) {
  EXPECT_EQ(DeviceTable::count(), 1U);
  DeviceTable table;
  EXPECT_EQ(table.find(1), nullptr);
  ASSERT_NE(table.find(0), nullptr);
  EXPECT_EQ(table.find(0)->name, "NVIDIA A100");
  stub::add_device({.name = "größer \xff", .memory = 5, .attributes = {}});
  EXPECT_EQ(DeviceTable::count(), 2U);
  const std::string text = table.to_json();
  EXPECT_TRUE(text.starts_with(R"([{"id":0,"name":"NVIDIA A100","totalGlobalMem":42297524224,)"))
      << text;
  EXPECT_NE(text.find("},{\"id\":1,\"name\":\"größer \uFFFD\",\"totalGlobalMem\":5,"),
            std::string::npos)
      << text;
  stub::set_cuda_initialized(false);
  EXPECT_EQ(DeviceTable::count(), 0U);
  EXPECT_EQ(DeviceTable().to_json(), "[]");
}

TEST_F(GpuWindow, AnAttributeOfAGpuHasItsOwnField) {
  stub::clear_devices();
  std::map<int, int> attributes;
  for (int attribute = 1; attribute < 120; ++attribute) attributes[attribute] = 1000 + attribute;
  stub::add_device({.name = "GPU", .memory = 99, .attributes = attributes});
  begin();
  stub::emit_record(kernel(1, now()));
  EXPECT_EQ(end()["deviceProperties"][0], json::parse(R"({"id": 0, "name": "GPU",
      "totalGlobalMem": 99, "computeMajor": 1075, "computeMinor": 1076, "maxThreadsPerBlock": 1001,
      "maxThreadsPerMultiprocessor": 1039, "regsPerBlock": 1012, "warpSize": 1010,
      "sharedMemPerBlock": 1008, "numSms": 1016, "regsPerMultiprocessor": 1082,
      "sharedMemPerBlockOptin": 1097, "sharedMemPerMultiprocessor": 1081,
      "uuid": "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f", "hasContext": true})"));
}

TEST_F(GpuWindow, VersionsAreThoseOfDriverAndRuntime) {
  set("REDLINE_STUB_CUDA_VERSION", "12080");
  EXPECT_EQ(cuda_driver_version(), 12080);
  EXPECT_EQ(cuda_runtime_version(), 13020);
  g_runtime_result = 35;
  EXPECT_EQ(cuda_runtime_version(), std::nullopt);
  g_runtime_result = 0;
}

}  // namespace
}  // namespace redline::cupti
