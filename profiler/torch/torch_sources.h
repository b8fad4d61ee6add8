// What LibTorch tells beside its operators: sources of the recorder that torch_ops.cc attaches.
#pragma once

namespace redline::profiler {

/// Allocations and releases of tensors, on every thread and device. May be called again.
void attach_torch_memory();

/// User scopes (record_function, RECORD_USER_SCOPE) as step markers, also outside windows.
void attach_torch_markers();

/// Puts "torch" into the trace of the window that is prepared now: the settings of a program
/// without Python, whose switches and thread counts may still change before main(). For Python,
/// python/redline/_torch_settings.py tells them.
void add_torch_settings();

}  // namespace redline::profiler
