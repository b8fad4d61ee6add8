// Collects the facts about a machine. No probe fails: what it cannot find out is absent.
#pragma once

#include <optional>
#include <string>

#include "machine/doctor/facts.h"
#include "machine/doctor/sources.h"

namespace redline::doctor {

/// All of the facts; takes as long as importing torch does.
[[nodiscard]] Facts probe(const Sources& sources);

/// The driver and its GPUs by libnvidia-ml.so.1; none where that library is not installed.
[[nodiscard]] std::optional<Driver> probe_driver(const Sources& sources);

/// What libcuda.so.1 lets a program see; none where that library is not installed.
[[nodiscard]] std::optional<CudaRuntime> probe_cuda(const Sources& sources);

/// The toolkit of CUDA_HOME, CUDA_PATH or /usr/local/cuda.
[[nodiscard]] std::optional<Toolkit> probe_toolkit(const Sources& sources);

/// The Python of REDLINE_PYTHON, else of the active or nearest virtual environment, else python3.
[[nodiscard]] std::optional<Python> probe_python(const Sources& sources);

/// The libcupti.so that a training process would load: torch's own, else the toolkit's.
[[nodiscard]] std::optional<Cupti> probe_cupti(const Sources& sources,
                                               const std::optional<Python>& python,
                                               const std::optional<Toolkit>& toolkit);

[[nodiscard]] Recorder probe_recorder();
[[nodiscard]] HostFacts probe_host(const Sources& sources);

/// The disk of the folder `sources.data`; none where it cannot be entered.
[[nodiscard]] std::optional<DataFolder> probe_data(const Sources& sources);

[[nodiscard]] Network probe_network(const Sources& sources);

/// The kernel's clock, whatever `sources.root` is.
[[nodiscard]] std::optional<Clock> probe_clock(const Sources& sources);

}  // namespace redline::doctor
