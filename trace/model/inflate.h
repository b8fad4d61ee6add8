// Inflating gz and zst files into memory of which finished parts are read meanwhile.
#pragma once

#include <atomic>
#include <cstddef>
#include <string_view>

#include "trace/emit/gzip_stream.h"
#include "trace/model/inflate_buffer.h"
#include "trace/model/issues.h"

namespace redline::trace {

[[nodiscard]] bool is_zstd(std::string_view file);

/// Inflates all members of a gz file. What is cut or damaged ends the text there, with an issue.
/// `out` may forget its text, and inflates it again from `file`. `file_bytes` tells other threads
/// how many of the file's bytes are done.
void inflate_gzip(std::string_view file, InflateBuffer& out, std::atomic<size_t>& file_bytes,
                  IssueLog& issues);

/// The same for all frames of a zst file, which cannot be begun in its middle: `out` keeps it all.
void inflate_zstd(std::string_view file, InflateBuffer& out, std::atomic<size_t>& file_bytes,
                  IssueLog& issues);

}  // namespace redline::trace
