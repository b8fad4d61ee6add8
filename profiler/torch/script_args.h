// What a trace says of the TorchScript code that an operator was called from, in torch.profiler's
// words; nothing of eager code, whose modules are python_function slices.
#pragma once

#include <ATen/record_function.h>

#include <string>

namespace redline::profiler {

/// Members of "args": "Call stack" and "Module Hierarchy", as asked for; "" outside TorchScript.
/// May throw.
[[nodiscard]] std::string describe_script(const at::RecordFunction& function, bool with_stack,
                                          bool with_modules);

}  // namespace redline::profiler
