// Kernel names for people. A templated name runs to 500 characters of which one word tells what the
// kernel does, seldom the first.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace redline::trace {

/// Without return type, arguments and namespaces: "bn_bw_1C11_kernel_new<float,512,true,1>".
[[nodiscard]] std::string plain_kernel_name(std::string_view name);

/// At most `width` columns. What is left of a template's arguments is the operation if one can be
/// told: "vectorized_elementwis…<MulFunctor>"; other names lose their middle.
[[nodiscard]] std::string short_kernel_name(std::string_view name, size_t width);

/// `utf8` cut in the middle to at most `width` columns, control characters as '?'.
[[nodiscard]] std::string elide_middle(std::string_view utf8, size_t width);

}  // namespace redline::trace
