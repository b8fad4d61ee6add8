#include "profiler/cupti/activity_text.h"

#include <gtest/gtest.h>

#include <set>

namespace redline::cupti {
namespace {

TEST(ActivityNames, Kernels) {
  EXPECT_EQ(kernel_name("_ZN2at6native3addIfEEvPT_i"), "void at::native::add<float>(float*, int)");
  EXPECT_EQ(kernel_name("_Zbroken"), "_Zbroken");
  EXPECT_EQ(kernel_name("f"), "f");  // "f" is also the mangled name of the type float
  EXPECT_EQ(kernel_name("kernel"), "Kernel");
  EXPECT_EQ(kernel_name(nullptr), "(unnamed)");
}

TEST(ActivityNames, CopiesAndOverhead) {
  EXPECT_EQ(copy_name(2, 3, 1), "Memcpy DtoH (Device -> Pageable)");
  EXPECT_EQ(copy_name(77, 3, 99), "Memcpy <unknown> (Device -> <unknown>)");
  EXPECT_EQ(memset_name(5), "Memset (Managed)");
  EXPECT_EQ(synchronization_name(3), "Stream Sync");
  EXPECT_EQ(overhead_name(1 << 16), "Buffer Flush");
}

TEST(ActivityNames, Functions) {
  EXPECT_EQ(runtime_function_name("cudaLaunchKernel_v7000"), "cudaLaunchKernel");
  EXPECT_EQ(runtime_function_name("cudaLaunchKernel_ptsz_v7000"), "cudaLaunchKernel_ptsz");
  EXPECT_EQ(runtime_function_name("cudaStreamGetCaptureInfo_v2_v11030"),
            "cudaStreamGetCaptureInfo_v2");
  EXPECT_EQ(runtime_function_name("cuda_v"), "cuda_v");
  EXPECT_TRUE(is_noise("cudaGetDevice"));
  EXPECT_FALSE(is_noise("cudaGetDeviceCount"));
  EXPECT_TRUE(is_shown_driver_function("cuLaunchKernelEx"));
  EXPECT_FALSE(is_shown_driver_function("cuMemAlloc_v2"));
  EXPECT_TRUE(is_driver_noise("cuCtxGetCurrent"));
  // Calls that start work on a GPU must be recorded, because the work has their correlation.
  for (const char* name : {"cuMemcpyAsync", "cuStreamSynchronize", "cuMemsetD8Async"}) {
    EXPECT_FALSE(is_driver_noise(name)) << name;
  }
}

/// The names of 0, 1, 2, … up to one that is not known.
template <typename Name>
std::string all_of(const Name& name, uint32_t count) {
  std::string all;
  for (uint32_t i = 0; i <= count; ++i) all += std::string(name(i)) + ", ";
  return all;
}

TEST(ActivityNames, EachNumberOfCuptiHasItsName) {
  EXPECT_EQ(
      all_of([](uint32_t i) { return copy_name(static_cast<uint8_t>(i), 1, 1).substr(7, 4); }, 11),
      "<unk, HtoD, DtoH, HtoA, AtoH, AtoA, AtoD, DtoA, DtoD, HtoH, PtoP, <unk, ");
  EXPECT_EQ(
      all_of([](uint32_t i) { return memset_name(static_cast<uint16_t>(i)); }, 8),
      "Memset (Unknown), Memset (Pageable), Memset (Pinned), Memset (Device), Memset (Array), "
      "Memset (Managed), Memset (Device Static), Memset (Managed Static), Memset (<unknown>), ");
  EXPECT_EQ(all_of([](uint32_t i) { return memory_operation_name(i, 2); }, 3),
            "<unknown> (Pinned), Allocation (Pinned), Release (Pinned), <unknown> (Pinned), ");
  EXPECT_EQ(
      all_of(pool_operation_name, 4),
      "<unknown>, Memory Pool Created, Memory Pool Destroyed, Memory Pool Trimmed, <unknown>, ");
  EXPECT_EQ(all_of(unified_memory_name, 5),
            "<unknown>, Unified Memory HtoD, Unified Memory DtoH, Unified Memory CPU Page Faults, "
            "Unified Memory GPU Page Faults, <unknown>, ");
  EXPECT_EQ(all_of(synchronization_name, 5),
            "<unknown>, Event Sync, Stream Wait Event, Stream Sync, Context Sync, <unknown>, ");
  EXPECT_EQ(
      all_of([](uint32_t i) { return overhead_name(i << 16); }, 9),
      "Unknown, Buffer Flush, Instrumentation, Resource, Runtime Triggered Module Loading, "
      "Lazy Function Loading, Command Buffer Full, Activity Buffer Request, UVM Activity Init, "
      "Unknown, ");
  EXPECT_EQ(overhead_name(1), "Driver Compiler");
  EXPECT_EQ(overhead_name(2), "Unknown");
}

TEST(ActivityNames, FunctionsThatAreLeftOut) {
  for (const char* name :
       {"cudaGetDevice", "cudaSetDevice", "cudaGetLastError", "cudaPeekAtLastError",
        "cudaGetErrorName", "cudaGetErrorString", "cudaDeviceGetAttribute",
        "cudaPointerGetAttributes", "cudaGetFuncBySymbol", "cudaStreamIsCapturing",
        "cudaStreamGetCaptureInfo", "cudaEventCreate", "cudaEventCreateWithFlags",
        "cudaEventDestroy"}) {
    EXPECT_TRUE(is_noise(name)) << name;
    EXPECT_FALSE(is_noise(std::string(name) + "_") || is_driver_noise(name)) << name;
  }
  for (const char* name : {"cuLaunchKernel", "cuLaunchCooperativeKernel", "cuGraphLaunch",
                           "cuMemCreate", "cuMemMap", "cuMemUnmap", "cuMemRelease",
                           "cuMemExportToShareableHandle", "cuMemImportFromShareableHandle"}) {
    EXPECT_TRUE(is_shown_driver_function(name)) << name;
    EXPECT_FALSE(is_driver_noise(name)) << name;
  }
  for (const char* name : {"cuPointerGetAttributes", "cuTensorMapEncodeTiled",
                           "cuOccupancyMaxPotentialBlockSize", "cuGetErrorName"}) {
    EXPECT_FALSE(is_shown_driver_function(name)) << name;
    EXPECT_TRUE(is_driver_noise(name)) << name;
  }
  const std::pair<const char*, const char*> rows[] = {
      {"f_v1", "f"}, {"f_v12a", "f_v12a"}, {"f_va1", "f_va1"},  {"_v9", ""},
      {"f_v0", "f"}, {"f", "f"},           {"f_v2_x", "f_v2_x"}};
  for (const auto& [name, expected] : rows) EXPECT_EQ(runtime_function_name(name), expected);
}

KernelRecord some_kernel() {
  KernelRecord kernel = {};
  kernel.registers_per_thread = 32;
  kernel.device = 1;
  kernel.context = 2;
  kernel.stream = 7;
  for (int i = 0; i < 3; ++i) {
    kernel.grid[i] = 10 + i;
    kernel.block[i] = 2 + i;
  }
  kernel.static_shared_memory = 256;
  kernel.dynamic_shared_memory = 512;
  return kernel;
}

TEST(ActivityArgs, Kernels) {
  KernelRecord kernel = some_kernel();
  const std::string plain =
      R"("queued": 0, "device": 1, "context": 2, "stream": 7, "registers per thread": 32, "shared memory": 768)";
  const std::string sizes = R"(, "grid": [10, 11, 12], "block": [2, 3, 4])";
  EXPECT_EQ(args_of(kernel, nullptr), plain + sizes);
  const DeviceProperties unknown;
  EXPECT_EQ(args_of(kernel, &unknown), plain + sizes);
  const DeviceProperties device{.major = 8,
                                .max_threads_per_sm = 2048,
                                .warp_size = 32,
                                .sms = 108,
                                .registers_per_sm = 65536,
                                .shared_memory_per_sm = 167936,
                                .max_blocks_per_sm = 32};
  kernel.graph = 3;
  kernel.cluster[0] = 1;
  kernel.cluster[1] = 2;
  kernel.cluster[2] = 4;
  kernel.priority = -5;
  EXPECT_EQ(
      args_of(kernel, &device),
      plain + R"(, "blocks per SM": 12.222222, "warps per SM": 9.166667)" + sizes +
          R"(, "est. achieved occupancy %": 14, "occupancy": {"activeBlocksPerMultiprocessor": 32, )"
          R"("limitingFactors": "BLOCKS"}, "cluster": [1, 2, 4], "priority": -5)");
  kernel.graph_node = 9;
  EXPECT_EQ(args_of(kernel, nullptr),
            plain + sizes + R"(, "graph id": 3, "cluster": [1, 2, 4], "priority": -5)");
}

// Two kernels with different args must not share an entry.
TEST(ActivityArgs, TheKeyOfAKernelHoldsAllThatItsArgsSay) {
  std::set<uint64_t> keys = {args_key(some_kernel())};
  const auto differs = [&](const auto& change) {
    KernelRecord kernel = some_kernel();
    change(kernel);
    const uint64_t key = args_key(kernel);
    EXPECT_EQ(key, args_key(kernel));
    EXPECT_EQ(key & 1, 1U);
    return keys.insert(key).second;
  };
  for (uint32_t KernelRecord::*number :
       {&KernelRecord::device, &KernelRecord::context, &KernelRecord::stream}) {
    EXPECT_TRUE(differs([&](KernelRecord& kernel) { kernel.*number = 99; }));
  }
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(differs([&](KernelRecord& kernel) { kernel.grid[i] = 99; }));
    EXPECT_TRUE(differs([&](KernelRecord& kernel) { kernel.block[i] = 99; }));
    EXPECT_TRUE(differs([&](KernelRecord& kernel) { kernel.cluster[i] = 99; }));
  }
  EXPECT_TRUE(differs([](KernelRecord& kernel) { kernel.registers_per_thread = 99; }));
  EXPECT_TRUE(differs([](KernelRecord& kernel) { kernel.static_shared_memory = 99; }));
  EXPECT_TRUE(differs([](KernelRecord& kernel) { kernel.dynamic_shared_memory = 99; }));
  EXPECT_TRUE(differs([](KernelRecord& kernel) { kernel.priority = 99; }));
  EXPECT_TRUE(differs([](KernelRecord& kernel) { kernel.graph_node = 1; }));
  EXPECT_TRUE(differs([](KernelRecord& kernel) { kernel.graph_node = 1, kernel.graph = 1; }));
  EXPECT_FALSE(differs([](KernelRecord& kernel) { kernel.graph_node = 2; }))
      << "a node has its own member";
  EXPECT_FALSE(differs([](KernelRecord& kernel) { kernel.graph = 1; })) << "of no graph";
  EXPECT_FALSE(differs([](KernelRecord& kernel) { kernel.start = kernel.correlation = 5; }));
}

TEST(ActivityArgs, CopiesWaitsAndMemory) {
  const std::string lane = R"("device": 1, "context": 2, "stream": 7)";
  MemcpyRecord copy = {.device = 1, .context = 2, .stream = 7};
  EXPECT_EQ(args_of(copy), lane);
  copy.graph = 3;
  copy.graph_node = 9;
  EXPECT_EQ(args_of(copy), lane + R"(, "graph id": 3, "graph node id": 9)");
  EXPECT_EQ(args_of(MemsetRecord{.device = 1, .context = 2, .stream = 7}), lane);
  PeerCopyRecord peer = {.device = 1,
                         .context = 2,
                         .stream = 7,
                         .source_device = 3,
                         .source_context = 4,
                         .destination_device = 5,
                         .destination_context = 6};
  const std::string peers =
      R"("fromDevice": 3, "inDevice": 1, "toDevice": 5, "fromContext": 4, "inContext": 2, "toContext": 6, "stream": 7)";
  EXPECT_EQ(args_of(peer), peers);
  peer.graph_node = 9;
  EXPECT_EQ(args_of(peer), peers + R"(, "graph id": 0, "graph node id": 9)");
  const SynchronizationRecord sync{Kind::kSynchronization, 3, 0, 0, 5, 2, kNoStream, 55};
  EXPECT_EQ(args_of(sync, 1, nullptr),
            R"("cuda_sync_kind": "Stream Sync", "stream": -1, "device": 1, "context": 2)");
  const RecordedEvent event{20, 4};
  EXPECT_EQ(
      args_of(sync, 1, &event),
      R"("cuda_sync_kind": "Stream Sync", "wait_on_stream": 20, "wait_on_cuda_event_record_corr_id": 4, )"
      R"("wait_on_cuda_event_id": 55, "stream": -1, "device": 1, "context": 2)");
  MemoryRecord memory = {};
  memory.device = 1;
  memory.context = 2;
  memory.stream = 7;
  memory.address = 1000;
  memory.bytes = 64;
  memory.operation = kRelease;
  EXPECT_EQ(args_of(memory), lane + R"(, "Addr": 1000, "Bytes": -64)");
  memory.operation = 1;
  memory.is_async = 1;
  EXPECT_EQ(args_of(memory), lane + R"(, "Addr": 1000, "Bytes": 64, "async": true)");
  MemoryPoolRecord pool = {};
  pool.device = 1;
  pool.address = 5;
  pool.release_threshold = 6;
  EXPECT_EQ(args_of(pool), R"("device": 1, "stream": -1, "Addr": 5, "release threshold": 6)");
  UnifiedMemoryRecord migration = {};
  migration.address = 5;
  migration.value = 6;
  for (const uint32_t counter : {1U, 2U}) {
    migration.counter = counter;
    EXPECT_EQ(args_of(migration), R"("stream": -1, "Addr": 5)");
  }
  for (const uint32_t counter : {3U, 4U}) {
    migration.counter = counter;
    EXPECT_EQ(args_of(migration), R"("stream": -1, "Addr": 5, "faults": 6)");
  }
}

}  // namespace
}  // namespace redline::cupti
