// What other sources ask of the source of GPU work, and tell it. Its bodies are in profiler/cupti/,
// so that no other source has to know CUPTI.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/c_api.h"

namespace redline::profiler {

/// A collective that the operator with this external id starts, for its kernels, which come later
/// and have that id, too. `members` are those of "args" of record_param_comms. Cheap where no GPU
/// is recorded.
REDLINE_API void note_collective(uint64_t id, std::string_view members) noexcept;
/// What NCCL chose for it.
REDLINE_API void note_collective_choice(uint64_t id, std::string_view algorithm,
                                        std::string_view protocol) noexcept;

/// The name that the program gives a CUDA stream, for its row in the trace. The stream must live:
/// afterwards its handle means nothing. Without effect where CUPTI does not tell its number.
void name_stream(void* stream, const std::string& name) noexcept;

/// Whether an NVIDIA driver serves this process, or could: its library is loaded, or its device is
/// there.
[[nodiscard]] bool has_cuda_driver();

/// The first cuInit() of this process is under way: until it ends the driver answers nothing, but
/// CUPTI can be switched on.
void see_cuda_start() noexcept;

/// A GPU on which this process has a context.
struct UsedGpu {
  int device = 0;  ///< as CUDA numbers them in this process
  std::string pci_bus;
};
[[nodiscard]] std::vector<UsedGpu> gpus_in_use();

}  // namespace redline::profiler
