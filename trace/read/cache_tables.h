// Everything of a trace but its slices and its text, as bytes of a cache file.
#pragma once

#include <string>
#include <string_view>

#include "base/byte_stream.h"
#include "trace/model/model.h"

namespace redline::trace {

class CacheTables {
 public:
  [[nodiscard]] static std::string encode(const Trace& trace);

  /// Fills a trace that has its slices. False where the bytes are no such tables, or where they or
  /// the slices name a string, lane, track or slice that is not there.
  [[nodiscard]] static bool decode(std::string_view bytes, Trace& trace);

 private:
  static void read_metadata(ByteReader& in, Metadata& metadata);
  static void read_counters(ByteReader& in, Trace& trace);
  [[nodiscard]] static bool read_counts(ByteReader& in, Trace& trace);
  [[nodiscard]] static bool read_strings(ByteReader& in, Trace& trace);
  [[nodiscard]] static bool has_valid_ids(const Trace& trace);
  [[nodiscard]] static bool has_valid_slices(const Trace& trace);
};

}  // namespace redline::trace
