// What a source tells of the collectives that an operator starts: for their kernels, which come
// later and have that operator's external id. Cheap where no GPU is recorded.
#pragma once

#include <cstdint>
#include <string_view>

#include "profiler/c_api.h"

namespace redline::profiler {

/// What the operator itself says: members of "args" of record_param_comms.
REDLINE_API void note_collective(uint64_t id, std::string_view members) noexcept;
/// What NCCL chose for it.
REDLINE_API void note_collective_choice(uint64_t id, std::string_view algorithm,
                                        std::string_view protocol) noexcept;

}  // namespace redline::profiler
