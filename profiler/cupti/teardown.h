// Ends CUPTI after a window, if the user sets REDLINE_GPU_TEARDOWN=on.
//
// Once CUPTI has recorded calls of CUDA, it stays between the program and the driver, and each
// later call takes longer (docs/gpu.md has figures). cuptiFinalize() takes it out. NVIDIA allows
// that call only where no other thread is within CUPTI, and names the end of a call of CUDA as the
// place. So it is made at the end of the job's next call, on the job's thread. It ends CUPTI for
// all tools of the process, hence the variable.
#pragma once

#include "profiler/cupti/cupti_library.h"

namespace redline::cupti {

/// Whether the user wants it, and this CUPTI can do it: from CUDA 12.6 on.
[[nodiscard]] bool wants_teardown(const Library& library);

class Teardown {
 public:
  /// After a window: CUPTI ends at the job's next call of CUDA. Does nothing if another tool has
  /// subscribed to CUPTI.
  void begin(const Library& library);
  /// Before the next window: CUPTI stays if it has not ended yet.
  void cancel(const Library& library);

 private:
  SubscriberHandle handle_ = nullptr;
};

}  // namespace redline::cupti
