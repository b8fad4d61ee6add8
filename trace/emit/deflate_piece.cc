#include "trace/emit/deflate_piece.h"

#include <libdeflate.h>
#include <zlib.h>

#include <new>

namespace redline::trace {
namespace {

/// Where a stream's last block begins and ends, in bits.
struct LastBlock {
  size_t begin = 0;
  size_t end = 0;
};

constexpr int level_of(DeflateEffort effort) { return effort == DeflateEffort::kFast ? 1 : 6; }

}  // namespace

struct PieceDeflater::Inflater {
  z_stream stream{};
  std::array<Bytef, 64 * 1024> dropped;

  Inflater() {
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  LastBlock last_block(std::string_view deflated) {
    constexpr int kAtBlockEnd = 128, kUnusedBits = 7;
    inflateReset(&stream);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(deflated.data()));
    stream.avail_in = static_cast<uInt>(deflated.size());
    LastBlock last;
    int status = Z_OK;
    while (status == Z_OK) {
      stream.next_out = dropped.data();
      stream.avail_out = static_cast<uInt>(dropped.size());
      status = inflate(&stream, Z_BLOCK);
      if ((stream.data_type & kAtBlockEnd) == 0) continue;
      const size_t unused = static_cast<size_t>(stream.data_type & kUnusedBits);
      last = {last.end, stream.total_in * 8 - unused};
    }
    return last;
  }
};

PieceDeflater::PieceDeflater() = default;

PieceDeflater::~PieceDeflater() {
  for (libdeflate_compressor* compressor : compressors_) libdeflate_free_compressor(compressor);
}

void PieceDeflater::append(std::string_view plain, DeflateEffort effort, std::string& out) {
  libdeflate_compressor*& compressor = compressors_[static_cast<size_t>(effort)];
  if (compressor == nullptr) compressor = libdeflate_alloc_compressor(level_of(effort));
  if (compressor == nullptr) throw std::bad_alloc();
  if (!inflater_) inflater_ = std::make_unique<Inflater>();

  const size_t before = out.size();
  out.resize(before + libdeflate_deflate_compress_bound(compressor, plain.size()));
  out.resize(before + libdeflate_deflate_compress(compressor, plain.data(), plain.size(),
                                                  out.data() + before, out.size() - before));
  const LastBlock last = inflater_->last_block(std::string_view(out).substr(before));
  char& header = out[before + last.begin / 8];
  header = static_cast<char>(header & ~(1 << last.begin % 8));
  // A stored block begins with three zero bits; the rest of the byte is zero anyway.
  out.resize(before + (last.end + 3 + 7) / 8);
  out.append({'\0', '\0', '\xff', '\xff'});
}

}  // namespace redline::trace
