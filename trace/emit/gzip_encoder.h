// A gzip member (RFC 1952) that can be ended late.
//
// A recorder must have everything on disk when a window ends, but the file's last key, its own
// name, is only known at export. So a member may be flushed to a byte boundary at any time, and its
// ending, a last stored block with more text, is made apart: one member, no second compression.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trace/emit/deflate_piece.h"

namespace redline::trace {

class GzipEncoder {
 public:
  /// Keeps the text until there is a megabyte of it, then compresses it and appends the bytes to
  /// `out`. The first bytes are gzip's header.
  void append(std::string_view plain, std::string& out);

  /// Brings all that was appended into `out`, ended on a byte boundary: readable up to here.
  void flush(std::string& out);

  /// What ends the member after a flush(): `tail` (at most 65,535 bytes) uncompressed, checksum and
  /// length. Does not change the encoder.
  [[nodiscard]] std::string ending(std::string_view tail) const;

  /// Whether the text from here on is compressed fast or small.
  void set_effort(DeflateEffort effort) { effort_ = effort; }

 private:
  std::string pending_;
  DeflateEffort effort_ = DeflateEffort::kSmall;
  PieceDeflater deflater_;
  uint32_t checksum_ = 0;
  uint32_t plain_size_ = 0;  ///< modulo 2^32, as gzip counts
  bool started_ = false;
};

}  // namespace redline::trace
