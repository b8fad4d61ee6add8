// A program that uses CUDA and knows nothing of Redline, for tests on machines without a GPU. It
// makes three launches right before its end.
#include "tests/stubs/stub_launch.h"
#include "tests/stubs/stubs.h"

extern "C" int cuInit(unsigned int flags);

int main() {
  using namespace redline;
  stub::add_device({.name = "NVIDIA A100", .memory = 1, .attributes = {}});
  stub::name_function(cupti::kRuntimeDomain, stub::kLaunchKernel, "cudaLaunchKernel_v7000");
  cuInit(0);
  for (uint32_t correlation = 1; correlation <= 3; ++correlation) stub::launch(correlation);
  return 0;
}
