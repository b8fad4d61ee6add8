// Compresses pieces of text to deflate blocks (RFC 1951) that can be concatenated to one stream.
//
// libdeflate makes training traces a third smaller than other compressors of its speed, but it only
// writes whole streams. A piece is such a stream in which the last block's final bit is cleared and
// an empty stored block follows, up to a byte boundary, as zlib's Z_SYNC_FLUSH does. Only inflating
// shows where the last block begins and ends: zlib's inflater can stop at each block.
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
