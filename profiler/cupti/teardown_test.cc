#include "profiler/cupti/teardown.h"

#include "profiler/cupti/testing_window.h"
#include "profiler/source/gpu_work.h"
#include "profiler/source/source.h"

namespace redline::cupti {
namespace {

TEST_F(GpuWindow, CuptiEndsAfterAWindowAtTheNextCallOfCudaIfTheUserWantsThat) {
  setenv("REDLINE_GPU_TEARDOWN", "on", 1);
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
  unsetenv("REDLINE_GPU_TEARDOWN");
  begin();
  static_cast<void>(end());
  stub::call_cuda();
  EXPECT_EQ(stub::cupti_calls("cuptiFinalize"), 1);
}

}  // namespace
}  // namespace redline::cupti
