#include "profiler/cupti/cupti_library.h"

#include <gmock/gmock.h>

#include <new>

#include "profiler/cupti/testing_source.h"
#include "profiler/source/gpu_work.h"

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

TEST_F(GpuWindow, AToolThatBeginsWithinAWindowGetsCuptiWithoutOurBuffers) {
  begin();
  const uint64_t begun = now();
  stub::call(launch_call(1, begun));
  stub::emit_record(kernel(1, begun + 500));
  stub::keep_buffer_of(0, 5);
  ::testing::internal::CaptureStderr();
  profiler::give_up_gpu("torch.profiler");
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("torch.profiler began to record"),
            std::string::npos);
  EXPECT_FALSE(stub::is_enabled(Kind::kConcurrentKernel));
  const int flushes = stub::cupti_calls("cuptiActivityFlushAll");
  profiler::give_up_gpu("torch.profiler");  // also begins anew, for one
  const nlohmann::json trace = end();
  EXPECT_EQ(stub::cupti_calls("cuptiActivityFlushAll"), flushes) << "these are the tool's records";
  EXPECT_EQ(events(trace, "kernel").size(), 1u);
  EXPECT_EQ(trace["redline"]["gpu"]["off_after"],
            "torch.profiler began to record, and CUPTI serves one tool at a time");
  begin();
  EXPECT_TRUE(stub::is_enabled(Kind::kConcurrentKernel));
  EXPECT_FALSE(end()["redline"]["gpu"].contains("off_after"));
}

}  // namespace
}  // namespace redline::cupti
