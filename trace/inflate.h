// Inflating gz (ISA-L) and zst. A torn or damaged file gives what came out of it, and an issue.
#pragma once

#include <functional>
#include <string_view>

#include "trace/issues.h"
#include "trace/text.h"

namespace redline::trace {

/// Called with the compressed bytes done so far; returning false stops the work.
using InflateProgress = std::function<bool(size_t done)>;

[[nodiscard]] bool is_gzip(std::string_view file);
[[nodiscard]] bool is_zstd(std::string_view file);

/// All members of a gz file, one after the other.
[[nodiscard]] GrowingBuffer inflate_gzip(std::string_view file, const InflateProgress& progress,
                                         IssueLog& issues);

[[nodiscard]] GrowingBuffer inflate_zstd(std::string_view file, const InflateProgress& progress,
                                         IssueLog& issues);

}  // namespace redline::trace
