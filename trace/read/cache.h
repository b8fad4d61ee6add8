// Traces that were read before, as columns in a file of their own: opening one again is a mmap.
//
// One file a trace under $XDG_CACHE_HOME/redline, named after the trace's path. It counts only for
// the state of the trace that it was made of, and is checked as a whole before it is used. Nothing
// here is an error for the user: without a cache, the trace is read.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "trace/model/model.h"
#include "trace/model/text.h"
#include "trace/read/reader.h"

namespace redline::trace {

class TraceCache {
 public:
  /// For the trace at `path`, whose file `text` has opened.
  TraceCache(std::string path, std::shared_ptr<const Text> text, const CacheOptions& options);

  /// Null where there is none of this state of the trace, or a damaged one.
  [[nodiscard]] std::shared_ptr<const Trace> load() const;

  /// Keeps the trace, where it is worth it and the disk has room.
  void store(const Trace& trace) const;
  /// The same on a thread that the trace waits for when it goes.
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
