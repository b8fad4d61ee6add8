// Which operators launched a kernel, by name. It looks at every kernel of the traces, so it is
// computed with the report and not in the window.
#pragma once

#include <string>
#include <unordered_map>

#include "trace/report/report.h"

namespace redline::viewer {

/// For a kernel's name the operator that launched it most, with its share of the calls if it is not
/// the only one: "aten::mm", "aten::mm, 72 %". Kernels of unknown launches are left out.
using KernelOrigins = std::unordered_map<std::string, std::string>;

[[nodiscard]] KernelOrigins kernel_origins(const trace::Report& report);

}  // namespace redline::viewer
