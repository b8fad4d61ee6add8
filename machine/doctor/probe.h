// Collects the facts about a machine. No probe fails: a fact that it cannot find out is absent.
#pragma once

#include <optional>

#include "machine/doctor/facts.h"
#include "machine/doctor/sources.h"

namespace redline::doctor {

/// All facts. This takes as long as importing torch.
[[nodiscard]] Facts probe(const Sources& sources);

/// The driver and its GPUs, from libnvidia-ml.so.1; nullopt if that library is not installed.
[[nodiscard]] std::optional<Driver> probe_driver(const Sources& sources);

/// What programs can use, from libcuda.so.1; nullopt if that library is not installed.
[[nodiscard]] std::optional<CudaRuntime> probe_cuda(const Sources& sources);

/// The toolkit in CUDA_HOME, CUDA_PATH or /usr/local/cuda.
[[nodiscard]] std::optional<Toolkit> probe_toolkit(const Sources& sources);

/// The Python in REDLINE_PYTHON, otherwise that of the active virtual environment or of .venv,
/// otherwise python3.
[[nodiscard]] std::optional<Python> probe_python(const Sources& sources);

/// The libcupti.so that a training process would load: torch's own, otherwise the toolkit's.
[[nodiscard]] std::optional<Cupti> probe_cupti(const Sources& sources,
                                               const std::optional<Python>& python,
                                               const std::optional<Toolkit>& toolkit);

[[nodiscard]] Recorder probe_recorder();
[[nodiscard]] HostFacts probe_host(const Sources& sources);

/// The disk of the folder `sources.data`; nullopt if the folder cannot be entered.
[[nodiscard]] std::optional<DataFolder> probe_data(const Sources& sources);

[[nodiscard]] Network probe_network(const Sources& sources);

/// The clock of this machine's kernel, even if `sources.root` is another folder.
[[nodiscard]] std::optional<Clock> probe_clock(const Sources& sources);

}  // namespace redline::doctor
