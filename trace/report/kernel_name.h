// Kernel names for people. A templated name runs to 500 characters of which one word tells what the
// kernel does, seldom the first.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace redline::trace {

/// `name` in at most `width` columns. Of a template's arguments only the operation stays, if one
/// can be recognised: "vectorized_elementwis…<MulFunctor>". Other names lose their middle.
[[nodiscard]] std::string short_kernel_name(std::string_view name, size_t width);

/// The same for the rows of a table. Different names that would look the same show where they
/// differ, in their order: "sm80_xmma_g…tn_n_tilesize128x128x8_st…", or behind their operation:
/// "vectorized_elementwise_kernel<MulFunctor> BinaryFun…". If that does not help, either, or
/// `names` are the same, they look the same.
[[nodiscard]] std::vector<std::string> short_kernel_names(std::span<const std::string_view> names,
                                                          size_t width);

/// `name` in at most `width` columns. Names such as
/// "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__" differ right behind the #, so they
/// lose their end; others lose their middle.
[[nodiscard]] std::string short_operator_name(std::string_view name, size_t width);

}  // namespace redline::trace
