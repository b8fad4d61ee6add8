// Functions with which other sources ask the source of GPU work, or tell it something. They are
// implemented in profiler/cupti/ (give_up_gpu() in profiler/session/), so that no other source has
// to know CUPTI.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/c_api.h"

namespace redline::profiler {

/// Says that the operator with this external id starts a collective. Its kernels come later and
/// have the same id. `members` are the "args" of record_param_comms. Cheap if no GPU is recorded.
REDLINE_API void note_collective(uint64_t id, std::string_view members) noexcept;
/// Says which algorithm and protocol NCCL chose for that collective.
REDLINE_API void note_collective_choice(uint64_t id, std::string_view algorithm,
                                        std::string_view protocol) noexcept;

/// Says that the program gives a CUDA stream a name, for its row in the trace. The stream must
/// exist. Does nothing if CUPTI does not tell the stream's number.
void name_stream(void* stream, const std::string& name) noexcept;

/// Whether this process has loaded the NVIDIA driver's library, or could use a driver because its
/// device is there.
[[nodiscard]] REDLINE_API bool has_cuda_driver();

/// Says that another tool of this process, such as torch.profiler, is about to take the place in
/// CUPTI. Returns when CUPTI has handed over what it holds for us.
REDLINE_API void give_up_gpu(const char* tool) noexcept;

/// Hands over how to ask whether torch.profiler records, on any thread, or is in its warm-up, for
/// which it has taken CUPTI already. Without this only some that record are noticed.
REDLINE_API void set_torch_profiler_query(bool (*is_active)()) noexcept;

/// Says that the first cuInit() of this process has begun. Until it ends, the driver answers no
/// question, but CUPTI can be switched on.
void see_cuda_start() noexcept;

/// A GPU on which this process has a context.
struct UsedGpu {
  int device = 0;  ///< CUDA's number for it in this process
  std::string pci_bus;
  std::string part;  ///< NVML's id of a part of a GPU (MIG), which shares its bus; else empty
};
[[nodiscard]] std::vector<UsedGpu> gpus_in_use();

}  // namespace redline::profiler
