// Inflating gz and zst files into memory of which finished parts are read meanwhile.
#pragma once

#include <atomic>
#include <cstddef>
#include <string_view>

#include "trace/gzip_stream.h"
#include "trace/inflate_buffer.h"
#include "trace/issues.h"

namespace redline::trace {

[[nodiscard]] bool is_zstd(std::string_view file);

/// Where inflating stands, for other threads.
struct InflateProgress {
  std::atomic<size_t> file_bytes = 0;  ///< of the compressed file, done
  std::atomic<bool> stop = false;      ///< set from outside: end soon
};

/// Inflates all members of a gz file. What is cut or damaged ends the text there, with an issue.
/// `out` may forget its text, and inflates it again from `file`.
void inflate_gzip(std::string_view file, InflateBuffer& out, InflateProgress& progress,
                  IssueLog& issues);

/// The same for all frames of a zst file, which cannot be begun in its middle: `out` keeps it all.
void inflate_zstd(std::string_view file, InflateBuffer& out, InflateProgress& progress,
                  IssueLog& issues);

}  // namespace redline::trace
