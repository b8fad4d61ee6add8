// Pieces of text as deflate blocks (RFC 1951) that can stand one behind the other in one stream.
//
// libdeflate makes training traces a third smaller than other compressors of its speed, but only
// whole streams. A piece is such a stream whose last block is told not to be the last, ended on a
// byte boundary by an empty stored block, as zlib's Z_SYNC_FLUSH does. Where the last block begins
// and ends is known to nobody but an inflater: zlib's stops at each block.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

struct libdeflate_compressor;

namespace redline::trace {

enum class DeflateEffort {
  kFast,   ///< libdeflate's level 1, 2 ns a byte of a trace
  kSmall,  ///< level 6, 5 ns a byte, two thirds of the size
};

class PieceDeflater {
 public:
  PieceDeflater();
  ~PieceDeflater();
  PieceDeflater(const PieceDeflater&) = delete;
  PieceDeflater& operator=(const PieceDeflater&) = delete;

  /// Appends `plain`, not empty, to `out` as blocks of which none is the stream's last.
  void append(std::string_view plain, DeflateEffort effort, std::string& out);

 private:
  struct Inflater;

  std::array<libdeflate_compressor*, 2> compressors_{};  ///< by effort; made at the first use
  std::unique_ptr<Inflater> inflater_;
};

}  // namespace redline::trace
