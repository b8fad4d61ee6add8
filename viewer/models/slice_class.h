// The class of every slice of a trace, and the number of colours that a theme gives.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/model/slice_class.h"

namespace redline::viewer {

using trace::kSliceClassCount;
using SliceClass = trace::SliceClass;

/// A theme has the colours of the classes first, then this many colours to tell names apart.
inline constexpr int kNameColourCount = 8;
inline constexpr int kColourCount = kSliceClassCount + kNameColourCount;

/// The class of each slice of `trace`, one byte a slice.
[[nodiscard]] std::vector<uint8_t> slice_classes(const trace::Trace& trace);

}  // namespace redline::viewer
