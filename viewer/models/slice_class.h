// What a slice means to its reader; each class has one colour in the viewer, the report and the
// CLI.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "trace/model/model.h"

namespace redline::viewer {

enum class SliceClass : uint8_t {
  kOperator,
  kAnnotation,
  kCompute,
  kCommunication,
  kCopy,
  kDataLoader,
  kRuntime,
  kPython,
  kOverhead,
  kOther,
  kOverlapped,  ///< of an overlap lane: computation and communication at once
};
inline constexpr int kSliceClassCount = 11;
/// A theme has the colours of classes first, then as many to tell names apart.
inline constexpr int kNameColourCount = 8;
inline constexpr int kColourCount = kSliceClassCount + kNameColourCount;

[[nodiscard]] SliceClass classify(trace::Category category, std::string_view name);

/// The class of each slice of `trace`, one byte a slice.
[[nodiscard]] std::vector<uint8_t> slice_classes(const trace::Trace& trace);

}  // namespace redline::viewer
