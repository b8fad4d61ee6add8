// How large an element of a collective's message is.
#pragma once

#include <cstdint>
#include <string_view>

namespace redline::trace {

/// By c10's and by NCCL's name of its type; 0 of one that is not known.
[[nodiscard]] int64_t element_bytes(std::string_view type);

}  // namespace redline::trace
