// What a trace says of its process, out of its top-level values.
#pragma once

#include <cstdint>
#include <span>

#include "trace/model/model.h"
#include "trace/read/document.h"

namespace redline::trace {

/// Nanoseconds to add to each time stamp ("baseTimeNanoseconds"), 0 where absent.
[[nodiscard]] int64_t base_time_ns(std::span<const TopLevelValue> values);

/// Reads rank, world size, backend and host, and keeps the rest as JSON text. A value that is no
/// JSON is left out and counted.
[[nodiscard]] Metadata read_metadata(std::span<const TopLevelValue> values, IssueLog& issues);

}  // namespace redline::trace
