// What a trace of a program without Python says of its LibTorch. Its switches and thread counts may
// still change when the window begins, before main(); python/redline/_torch_settings.py tells them.
#pragma once

namespace redline::profiler {

/// Puts "torch" into the trace of the window that is prepared now.
void add_torch_settings();

}  // namespace redline::profiler
