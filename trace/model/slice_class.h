// What a slice means to a reader, from its category and its name.
//
// The text report, the HTML page and the viewer colour by these classes, so that a slice looks the
// same in all of them. A name is judged once, not once an event: ten million events share some
// hundred names.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "trace/emit/name_kinds.h"
#include "trace/model/model.h"

namespace redline::trace {

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
  kOverlapped,  ///< never a slice's: a stretch of time with computation and communication at once
};
inline constexpr int kSliceClassCount = 11;

[[nodiscard]] SliceClass classify(Category category, std::string_view name);

/// name_kinds() of every name of a trace.
class NameKinds {
 public:
  explicit NameKinds(const Trace& trace);

  /// The kinds of `name`, as bits; 0 for none.
  [[nodiscard]] uint8_t of(StringId name) const { return name ? kinds_[name.value] : 0; }
  [[nodiscard]] bool is(StringId name, NameKind kind) const { return (of(name) & kind) != 0; }

 private:
  std::vector<uint8_t> kinds_;  // by StringId
};

}  // namespace redline::trace
