// LibTorch's user scopes (record_function, RECORD_USER_SCOPE) as step markers, also outside
// windows.
#pragma once

namespace redline::profiler {

void attach_torch_markers();

}  // namespace redline::profiler
