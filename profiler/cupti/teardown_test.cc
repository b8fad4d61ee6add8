#include "profiler/cupti/teardown.h"

#include "profiler/cupti/testing_source.h"
#include "profiler/source/gpu_work.h"
#include "profiler/source/source.h"

namespace redline::cupti {
namespace {

TEST_F(GpuWindow, CuptiEndsAfterAWindowAtTheNextCallOfCudaIfTheUserWantsThat) {
  set("REDLINE_GPU_TEARDOWN", "on");
  begin();
  stub::call_cuda();
  static_cast<void>(end());
  EXPECT_EQ(stub::cupti_calls("cuptiFinalize"), 0) << "another thread may be within CUPTI";
  stub::call_cuda();
  stub::call_cuda();
  EXPECT_EQ(stub::cupti_calls("cuptiFinalize"), 1);
  const int pops = stub::cupti_calls("cuptiActivityPopExternalCorrelationId");
  profiler::pop_external_id(profiler::ExternalIdKind::kOperator);
  EXPECT_EQ(stub::cupti_calls("cuptiActivityPopExternalCorrelationId"), pops)
      << "starts CUPTI again";
  begin();
  static_cast<void>(end());
  begin();  // no call of CUDA came between the windows
  stub::call_cuda();
  static_cast<void>(end());
  EXPECT_EQ(stub::cupti_calls("cuptiFinalize"), 1);
  set("REDLINE_GPU_TEARDOWN", std::nullopt);
  begin();
  static_cast<void>(end());
  stub::call_cuda();
  EXPECT_EQ(stub::cupti_calls("cuptiFinalize"), 1);
}

/// Whether CUPTI of that version ends at the next call of CUDA after a window.
class Teardowns : public FreshSource {
 protected:
  Teardowns() { set("REDLINE_GPU_TEARDOWN", "on"); }

  [[nodiscard]] bool ends(uint32_t version) {
    const auto source = window_of_version(version);
    source->disable();
    static_cast<void>(end());
    stub::call_cuda();
    return stub::cupti_calls("cuptiFinalize") == 1;
  }
};

TEST_F(Teardowns, AreSafeFromCuda12_6On) {
  EXPECT_FALSE(ends(kVersion12_6 - 1));
  EXPECT_TRUE(ends(kVersion12_6));
}

TEST_F(Teardowns, NeedTheSubscribersPlace) {
  begin(false);
  source_.enable({});
  stub::fail_cupti("cuptiSubscribe_v2", kMultipleSubscribers);
  source_.disable();
  stub::call_cuda();
  EXPECT_EQ(stub::cupti_calls("cuptiFinalize"), 0);
  EXPECT_EQ(stub::cupti_calls("cuptiEnableDomain"), 0);
}

TEST_F(Teardowns, NeedAllCallsOfCuptiThatTheyMake) {
  const Library all = **find_library();
  EXPECT_TRUE(wants_teardown(all));
  Library less = all;
  less.subscribe = nullptr;
  EXPECT_FALSE(wants_teardown(less));
  less = all;
  less.unsubscribe = nullptr;
  EXPECT_FALSE(wants_teardown(less));
  less = all;
  less.enable_domain = nullptr;
  EXPECT_FALSE(wants_teardown(less));
  less = all;
  less.finalize = nullptr;
  EXPECT_FALSE(wants_teardown(less));
  set("REDLINE_GPU_TEARDOWN", "off");
  EXPECT_FALSE(wants_teardown(all));
}

}  // namespace
}  // namespace redline::cupti
