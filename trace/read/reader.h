// Reading traces: one file, or a folder of ranks.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "trace/model/model.h"

namespace redline::trace {

/// Why a file could not be read at all. `message` names the file, the reason and what to do.
struct ReadError {
  std::string message;
  std::string path = {};  ///< of the file, in ReadOptions::unreadable
};

/// Which traces read_trace() stores in the cache (cache.h), so that they open at once next time.
struct CacheOptions {
  bool enabled = true;
  std::string folder;  ///< "": as the environment says, $XDG_CACHE_HOME/redline
  uint64_t smallest_text_bytes = 32 << 20;    ///< smaller texts are read as fast as a cache
  uint64_t largest_total_bytes = 4ULL << 30;  ///< but never more than a tenth of the free disk
};

struct ReadOptions {
  /// Called from the reading thread with the bytes of the file that are done and their total.
  std::function<void(uint64_t done, uint64_t total)> progress;
  /// Set from any thread: reading stops soon with the error "cancelled".
  const std::atomic<bool>* cancel = nullptr;
  unsigned threads = 0;  ///< 0: one for each core
  /// How much of an inflated text may be memory; the rest is a temporary file. 0: half of what is
  /// free.
  size_t text_memory_bytes = 0;
  /// Inflated text is kept and forgotten in blocks of this many bytes; a multiple of the page size.
  size_t text_block_bytes = size_t{8} << 20;
  /// Only about this many bytes of a longer text are read, as if the file had been cut off there.
  uint64_t most_text_bytes = UINT64_MAX;
  /// Where read_traces() puts the files that it cannot read while it reads the others; it fails
  /// only if it can read none. Null: one such file is an error.
  std::vector<ReadError>* unreadable = nullptr;
  CacheOptions cache;  ///< unused by parse_trace(), and if most_text_bytes cuts the file
};

/// Reads a Kineto or Chrome JSON trace, plain, gz or zst (told by content, not by name). A torn
/// file gives its whole events and a LoadIssue; only what holds no trace at all is an error.
[[nodiscard]] tl::expected<std::shared_ptr<const Trace>, ReadError> read_trace(
    const std::string& path, const ReadOptions& options = {});

/// The same for a trace that is in memory as text; `name` stands for its path.
[[nodiscard]] tl::expected<std::shared_ptr<const Trace>, ReadError> parse_trace(
    const std::string& name, std::string_view json, const ReadOptions& options = {});

/// A trace that only says which file it is of: its path and metadata, no events.
[[nodiscard]] std::shared_ptr<const Trace> without_events(const Trace& trace);

/// How many times larger the text of a gz or zst trace usually is than the file.
constexpr uint64_t kUsualTextRatio = 16;

/// Whether the cache has a file for the trace. It may be out of date: only reading tells.
[[nodiscard]] bool may_be_cached(const std::string& path, const CacheOptions& options = {});

/// The traces (NAME.partial) in a folder whose processes were killed, or still record; sorted.
[[nodiscard]] std::vector<std::string> find_unfinished(const std::string& folder);

/// The trace files that `path` stands for: itself, or the *.pt.trace.json[.gz|.zst] files of a
/// folder (else those that are unfinished, else its *.json[.gz|.zst] files), sorted by name.
[[nodiscard]] tl::expected<std::vector<std::string>, ReadError> find_traces(
    const std::string& path);

/// Reads each of the files that `paths` stand for once, sorted by rank (files without a rank last,
/// by name).
[[nodiscard]] tl::expected<std::vector<std::shared_ptr<const Trace>>, ReadError> read_traces(
    const std::vector<std::string>& paths, const ReadOptions& options = {});

}  // namespace redline::trace
