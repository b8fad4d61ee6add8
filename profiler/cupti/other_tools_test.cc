#include "profiler/cupti/cupti_library.h"

#include <gmock/gmock.h>

#include <new>

#include "profiler/cupti/testing_source.h"

namespace redline::cupti {
namespace {

using ::testing::HasSubstr;

TEST(OtherTool, IsNamedByWhatItLeavesInAProcess) {
  EXPECT_EQ(other_tool(), "another profiler");
  setenv("CUDA_INJECTION64_PATH", "/opt/redline/lib/libredline.so", 1);
  EXPECT_EQ(other_tool(), "another profiler");
  setenv("CUDA_INJECTION64_PATH", "/opt/tool/libtool.so", 1);
  EXPECT_EQ(other_tool(), "/opt/tool/libtool.so");
  setenv("NSYS_PROFILING_SESSION_ID", "1", 1);
  EXPECT_EQ(other_tool(), "Nsight Systems");
  EXPECT_EQ(other_tool("CUPTI for its own sake"), "Nsight Systems");
  EXPECT_EQ(other_tool("Nsight Compute"), "Nsight Compute");
  unsetenv("NSYS_PROFILING_SESSION_ID");
  unsetenv("CUDA_INJECTION64_PATH");
  EXPECT_EQ(other_tool("CUPTI for its own sake"), "CUPTI for its own sake");
}

TEST_F(FreshSource, HasCuptiUnderOurNameWithinTheWindow) {
  EXPECT_EQ(events(recorded(), "kernel").size(), 1u);
  EXPECT_EQ(subscriber_, "Redline");
  EXPECT_EQ(stub::subscriber(), "");
}

TEST_F(FreshSource, AToolThatHasCuptiIsNamedAndAskedAgainInTheNextWindow) {
  stub::set_other_subscriber("CUPTI for Holoscan");
  const auto refused = recorded();
  EXPECT_TRUE(events(refused, "kernel").empty());
  EXPECT_EQ(events(refused, "user_annotation").size(), 1u);
  EXPECT_THAT(said_, HasSubstr("CUPTI for Holoscan uses CUPTI in this process"));
  EXPECT_FALSE(stub::is_enabled(Kind::kConcurrentKernel));
  stub::set_other_subscriber("");
  EXPECT_EQ(events(recorded(), "kernel").size(), 1u);
}

TEST_F(FreshSource, KeepsNothingOfAWindowThatFindsNoMemoryToBegin) {
  stub::set_cupti_clock([]() -> uint64_t { throw std::bad_alloc(); });
  EXPECT_TRUE(events(recorded(), "kernel").empty());
  EXPECT_FALSE(stub::is_enabled(Kind::kConcurrentKernel));
  EXPECT_EQ(stub::subscriber(), "");
}

TEST_F(FreshSource, KeepsNoPlaceThatItCannotUse) {
  stub::fail_cupti("cuptiActivityEnable", kInsufficientPrivileges);
  EXPECT_TRUE(events(recorded(), "kernel").empty());
  EXPECT_EQ(stub::subscriber(), "");
}

}  // namespace
}  // namespace redline::cupti
