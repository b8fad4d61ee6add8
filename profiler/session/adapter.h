// Finds and loads the LibTorch adapter.
#pragma once

#include <string>
#include <tl/expected.hpp>

namespace redline::profiler {

/// True where the process has libtorch_cpu.so loaded.
[[nodiscard]] bool has_torch();

/// Loads libredline_torch.so from the folder of libredline.so; it attaches itself.
[[nodiscard]] tl::expected<void, std::string> attach_torch();

}  // namespace redline::profiler
