// What this library does when LibTorch is there. Each may be called again.
#pragma once

namespace redline::profiler {

/// Makes allocations and releases of tensors, on every thread and device, a source of the recorder.
/// LibTorch's allocators report them by calls that we redirect.
void attach_torch_memory();

/// From now on, if torch.profiler begins to record GPUs within a window, the window gives up CUPTI
/// first. If it has begun before, be it with its warm-up, the window leaves CUPTI to it.
void watch_torch_profiler();

/// From now on LibTorch does not prepare its observers again around each backward function while we
/// record.
void keep_callbacks();

/// Gives the recorder the collectives that torch's own flight recorder lists.
void attach_flight_recorder_list();

}  // namespace redline::profiler
