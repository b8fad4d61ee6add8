// Traces that were read before, as columns in a file of their own: opening one again is a mmap.
//
// One file a trace under $XDG_CACHE_HOME/redline, named after the trace's path. It is used only
// while the trace file is unchanged since it was read, and its checksums are verified first.
// Nothing here is an error for the user: without a cache, the trace is read.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/byte_stream.h"
#include "trace/model/model.h"
#include "trace/read/reader.h"
#include "trace/read/text.h"

namespace redline::trace {

/// $XDG_CACHE_HOME/redline or ~/.cache/redline; "" if REDLINE_CACHE=off or neither is known.
[[nodiscard]] std::string default_cache_folder();

/// Makes room for a file of `bytes` in the folder: removes the files that were used longest ago, so
/// that all together take at most `largest_total` and a tenth of the free disk. False if it does
/// not fit at all.
[[nodiscard]] bool make_cache_room(const std::string& folder, uint64_t bytes,
                                   uint64_t largest_total);

/// Lets `fill` write a file under a name of its own, then gives it `path`: readers see all of it or
/// none. False, and no file, if `fill` returns false.
[[nodiscard]] bool write_cache_file(const std::string& path,
                                    const std::function<bool(const ByteSink& write)>& fill);

class CacheTables {
 public:
  /// In pieces, because the tables of a million threads are as large as the rest of the trace.
  /// False if the sink could not take them.
  [[nodiscard]] static bool encode(const Trace& trace, const ByteSink& sink);

  /// Fills a trace that has its slices. False if the bytes are no such tables, or if they or the
  /// slices name a string, lane, track or slice that does not exist.
  [[nodiscard]] static bool decode(std::string_view bytes, Trace& trace);

 private:
  static void read_metadata(ByteReader& in, Metadata& metadata);
  static void read_counters(ByteReader& in, Trace& trace);
  [[nodiscard]] static bool read_counts(ByteReader& in, Trace& trace);
  [[nodiscard]] static bool read_strings(ByteReader& in, Trace& trace);
  [[nodiscard]] static bool has_valid_ids(const Trace& trace);
  [[nodiscard]] static bool has_valid_slices(const Trace& trace);
};

class TraceCache {
 public:
  /// For the trace at `path`, whose file `text` has opened.
  TraceCache(std::string path, std::shared_ptr<const Text> text, const CacheOptions& options);

  /// Null if the cache has no file for the trace in its present state, or a damaged one.
  [[nodiscard]] std::shared_ptr<const Trace> load() const;

  /// Stores the trace if its text is large enough and the disk has room.
  void store(const Trace& trace) const;
  /// The same on a thread of its own, for which the trace's destructor waits.
  void store_in_background(const Trace& trace) const;

  /// Whether load() has anything to look at.
  [[nodiscard]] bool has_entry() const;
  /// The trace's file in the cache; "" where it has none.
  [[nodiscard]] const std::string& entry() const { return entry_; }

 private:
  [[nodiscard]] bool is_unchanged() const;

  std::string path_;
  std::shared_ptr<const Text> text_;
  CacheOptions options_;
  std::string folder_;
  std::string entry_;
  std::string source_;  ///< the trace's absolute path
};

}  // namespace redline::trace
