#include "profiler/cupti/cupti_library.h"

#include <dlfcn.h>
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
  EXPECT_EQ(stub::cupti_calls("cuptiUnsubscribe"), 1);
}

/// A process that has LibTorch loaded.
class WithTorch : public FreshSource {
 protected:
  WithTorch() { records(false, false); }
  ~WithTorch() override {
    dlclose(torch_);
    EXPECT_EQ(loaded_library("libtorch_cpu.so"), "") << "somebody has not closed it";
  }
  void records(bool this_thread, bool main_thread) {
    ASSERT_NE(torch_, nullptr) << dlerror();
    using Set = void (*)(bool, bool);
    reinterpret_cast<Set>(dlsym(torch_, "stub_torch_records"))(this_thread, main_thread);
  }
  [[nodiscard]] bool is_refused(const char* other) {
    stub::set_other_subscriber(other);
    return events(recorded(), "kernel").empty();
  }

  void* const torch_ = dlopen(REDLINE_STUB_TORCH, RTLD_NOW);
};

TEST_F(WithTorch, ItsProfilerIsNamedWhileItRecordsOnAnyThread) {
  EXPECT_EQ(other_tool("CUPTI for torch"), "CUPTI for torch");
  EXPECT_EQ(other_tool(), "another profiler");
  records(true, false);
  EXPECT_EQ(other_tool("CUPTI for torch"), "torch.profiler");
  EXPECT_EQ(other_tool("Nsight Compute"), "Nsight Compute");
  records(false, true);
  EXPECT_EQ(other_tool(), "torch.profiler");
}

TEST_F(WithTorch, GetsThePlaceBackAsSoonAsItIsKnownToBeFree) {
  EXPECT_FALSE(is_refused(""));
  EXPECT_EQ(subscriber_, "") << "torch.profiler asks for it only once";
  EXPECT_EQ(stub::cupti_calls("cuptiUnsubscribe"), 1);
}

TEST_F(WithTorch, APlaceThatItKeepsWithoutUseRefusesNobody) {
  EXPECT_FALSE(is_refused("CUPTI for torch"));
  stub::fail_cupti("cuptiSubscribe_v2", kMultipleSubscribers);  // as of an older CUPTI: no name
  EXPECT_FALSE(is_refused(""));
  EXPECT_EQ(stub::cupti_calls("cuptiUnsubscribe"), 0) << "it is not ours";
}

TEST_F(WithTorch, APlaceThatIsInUseRefusesUs) {
  for (const char* other : {"Nsight Compute", "X"}) {
    EXPECT_TRUE(is_refused(other)) << other;
    EXPECT_EQ(stub::cupti_calls("cuptiUnsubscribe"), 0);
  }
  setenv("NSYS_PROFILING_SESSION_ID", "1", 1);
  EXPECT_TRUE(is_refused("CUPTI for torch"));
  unsetenv("NSYS_PROFILING_SESSION_ID");
  records(true, false);
  EXPECT_TRUE(is_refused("CUPTI for torch"));
}

TEST_F(WithTorch, ItsProfilerHasThePlaceInItsWarmUpAlready) {
  profiler::set_torch_profiler_query([] { return true; });
  EXPECT_TRUE(is_refused("CUPTI for torch"));
  EXPECT_THAT(said_, HasSubstr("torch.profiler uses CUPTI in this process"));
  EXPECT_EQ(other_tool(), "torch.profiler");
  profiler::set_torch_profiler_query([] { return false; });
  EXPECT_FALSE(is_refused("CUPTI for torch"));
  profiler::set_torch_profiler_query(nullptr);
}

TEST(Subscription, IsNotAskedForWhereCuptiHasNoSuchCall) {
  stub::reset_cupti();
  Library library = **find_library();
  library.unsubscribe = nullptr;
  EXPECT_EQ(Subscription().take(library), "");
  library = **find_library();
  library.subscribe = nullptr;
  EXPECT_EQ(Subscription().take(library), "");
  EXPECT_EQ(stub::cupti_calls("cuptiSubscribe_v2"), 0);
}

TEST(Subscription, OfAnOlderCuptiHasNoName) {
  stub::reset_cupti();
  Library library = **find_library();
  library.subscribe_v2 = nullptr;
  Subscription subscription;
  EXPECT_EQ(subscription.take(library), "");
  EXPECT_EQ(Subscription().take(library), "another profiler") << "there is one place";
  subscription.release(library);
  EXPECT_EQ(Subscription().take(library), "");
  stub::reset_cupti();
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
  const auto trace = recorded();
  EXPECT_TRUE(events(trace, "kernel").empty());
  EXPECT_EQ(trace["redline"]["gpu"]["off"], "std::bad_alloc");
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
  run_kernel();
  stub::keep_buffer_of(0, 5);
  ::testing::internal::CaptureStderr();
  profiler::give_up_gpu("torch.profiler");
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("torch.profiler began to record"),
            std::string::npos);
  EXPECT_FALSE(stub::is_enabled(Kind::kConcurrentKernel));
  EXPECT_FALSE(profiler::wants_external_ids());
  EXPECT_EQ(stub::subscriber(), "");
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
