// What CUPTI's callbacks, the operators that push ids and the window share. CUPTI may call as long
// as the process lives, so it is never destroyed.
#pragma once

#include <atomic>

#include "profiler/cupti/buffer_pool.h"
#include "profiler/cupti/collective_notes.h"
#include "profiler/cupti/cupti_library.h"
#include "profiler/cupti/gpu_annotations.h"

namespace redline::cupti {

struct SharedState {
  BufferPool pool;
  AnnotationNames annotations;
  CollectiveNotes collectives;
  std::atomic<bool> may_refuse = false;  ///< CUPTI survives a request for a buffer that gets none
  // The table of functions while operators' ids are wanted, else nullptr; and from then on for
  // ever, since what was pushed must be popped, also after the window's end.
  std::atomic<const Library*> ids = nullptr;
  std::atomic<const Library*> pops = nullptr;
};

[[nodiscard]] SharedState& shared_state();

}  // namespace redline::cupti
