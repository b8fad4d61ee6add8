// What 16 bits and another batch size would do to the operators whose operations are known.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "trace/analysis/analysis.h"

namespace redline::trace {

/// The new length of a slice by its old one: at the least gain, as expected, at the most.
struct SliceFactor {
  SliceId slice;
  double least = 1, expected = 1, most = 1;
};

struct ShapeFactors {
  std::vector<SliceFactor> slices;  ///< of GPU work or, in a trace without, of a thread
  std::vector<std::string> notes;
};

/// Matrix products, convolutions and attention in FP32 run in BF16, as autocast has them. Operators
/// that take the type of their input have half of the bytes; at the least gain, these stay.
[[nodiscard]] tl::expected<ShapeFactors, std::string> factors_of_bf16(const Analysis& analysis);

/// Each step takes `times` as many samples. A call of forward or backward takes as many times
/// longer, but for what the fastest call of its kind takes. At the least gain, what was in the
/// cache comes from memory. The optimizer, collectives and work on all parameters stay as they are.
/// Work without shapes grows as much; at the most gain, it stays.
[[nodiscard]] tl::expected<ShapeFactors, std::string> factors_of_batch(const Analysis& analysis,
                                                                       double times);

}  // namespace redline::trace
