// How a source tells which collectives this rank has entered, so that the launcher can say who
// holds a hanging job up. The recorder asks only while the launcher wants to know.
//
// All types are plain, because an adapter may be built with another ABI of the standard library.
#pragma once

#include <cstddef>
#include <cstdint>

#include "profiler/c_api.h"

namespace redline::profiler {

using TakeText = void (*)(const char* text, size_t size, void* context);

/// Texts are given by calls of `take`. Must not throw, and lives until end_of_sources().
class EnteredCollectives {
 public:
  /// JSON objects, with "entries", as torch's flight recorder lists them, or with "groups" and
  /// "collectives" as in trace/read/hang_tables.h.
  virtual void tell(TakeText take, void* context) noexcept = 0;
  /// A number that changes whenever an operator has begun, between a call with true and one with
  /// false.
  virtual int64_t count_operators(bool is_on) noexcept = 0;

 protected:
  ~EnteredCollectives() = default;
};

/// From now on `source` is asked, unless this is a Python process, which writes its own table
/// (python/redline/_hang_table.py).
REDLINE_API void add_collectives(EnteredCollectives* source) noexcept;

/// To be called at exit(), just before what the sources observe is destroyed. From now on no other
/// thread calls a source, neither for collectives nor for a capture.
REDLINE_API void end_of_sources() noexcept;

}  // namespace redline::profiler
