#include "trace/emit/gzip_encoder.h"

#include <libdeflate.h>

namespace redline::trace {
namespace {

constexpr size_t kPiece = size_t{1} << 20;
constexpr size_t kLongestStoredBlock = 65'535;

void append_little_endian(std::string& out, uint32_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i) & 0xFF));
}

}  // namespace

void GzipEncoder::append(std::string_view plain, std::string& out) {
  checksum_ = libdeflate_crc32(checksum_, plain.data(), plain.size());
  plain_size_ += static_cast<uint32_t>(plain.size());
  while (!plain.empty()) {
    const std::string_view part = plain.substr(0, kPiece - pending_.size());
    plain.remove_prefix(part.size());
    pending_.append(part);
    if (pending_.size() == kPiece) flush(out);
  }
}

void GzipEncoder::flush(std::string& out) {
  if (!started_) {
    static constexpr char kHeader[] = {'\x1f', '\x8b', 8, 0, 0, 0, 0, 0, 0, '\xff'};
    out.append(kHeader, sizeof(kHeader));
    started_ = true;
  }
  if (pending_.empty()) return;
  deflater_.append(pending_, effort_, out);
  pending_.clear();
}

std::string GzipEncoder::ending(std::string_view tail) const {
  tail = tail.substr(0, kLongestStoredBlock);
  std::string out;
  const auto length = static_cast<uint32_t>(tail.size());
  out.push_back(1);  // last block, stored
  append_little_endian(out, length, 2);
  append_little_endian(out, ~length, 2);
  out.append(tail);
  append_little_endian(out, libdeflate_crc32(checksum_, tail.data(), tail.size()), 4);
  append_little_endian(out, plain_size_ + length, 4);
  return out;
}

}  // namespace redline::trace
