// Allocations and releases of tensors, on every thread and device, as a source of the recorder.
#pragma once

namespace redline::profiler {

/// May be called again.
void attach_torch_memory();

}  // namespace redline::profiler
