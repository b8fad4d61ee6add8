#include "profiler/cupti/activity_text.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace redline::cupti
