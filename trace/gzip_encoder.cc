#include "trace/gzip_encoder.h"

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>

#include <algorithm>

namespace redline::trace {
namespace {

constexpr size_t kOutputStep = 64 * 1024;
constexpr size_t kLongestStoredBlock = 65'535;

uint32_t checksum_of(uint32_t before, std::string_view plain) {
  return crc32_gzip_refl(before, reinterpret_cast<const unsigned char*>(plain.data()),
                         plain.size());
}

void append_little_endian(std::string& out, uint32_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i) & 0xFF));
}

}  // namespace

GzipEncoder::GzipEncoder()
    : stream_(std::make_unique<isal_zstream>()),
      level_buffer_(std::make_unique<uint8_t[]>(ISAL_DEF_LVL1_DEFAULT)) {
  isal_deflate_init(stream_.get());
  stream_->level = 1;
  stream_->level_buf = level_buffer_.get();
  stream_->level_buf_size = ISAL_DEF_LVL1_DEFAULT;
  stream_->gzip_flag = IGZIP_DEFLATE;
}

GzipEncoder::~GzipEncoder() = default;

void GzipEncoder::append(std::string_view plain, std::string& out) {
  if (!started_) {
    static constexpr char kHeader[] = {'\x1f', '\x8b', 8, 0, 0, 0, 0, 0, 0, '\xff'};
    out.append(kHeader, sizeof(kHeader));
    started_ = true;
  }
  checksum_ = checksum_of(checksum_, plain);
  plain_size_ += static_cast<uint32_t>(plain.size());
  deflate(plain, NO_FLUSH, out);
}

void GzipEncoder::flush(std::string& out) { deflate({}, SYNC_FLUSH, out); }

void GzipEncoder::deflate(std::string_view plain, int flush, std::string& out) {
  constexpr size_t kStep = size_t{1} << 30;  // avail_in has 32 bits
  do {
    const std::string_view part = plain.substr(0, kStep);
    plain.remove_prefix(part.size());
    stream_->next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(part.data()));
    stream_->avail_in = static_cast<uint32_t>(part.size());
    stream_->flush = static_cast<uint16_t>(flush);
    stream_->end_of_stream = 0;
    do {
      const size_t before = out.size();
      out.resize(before + kOutputStep);
      stream_->next_out = reinterpret_cast<uint8_t*>(out.data() + before);
      stream_->avail_out = kOutputStep;
      isal_deflate(stream_.get());
      out.resize(before + kOutputStep - stream_->avail_out);
    } while (stream_->avail_out == 0 || stream_->avail_in > 0);
  } while (!plain.empty());
}

std::string GzipEncoder::ending(std::string_view tail) const {
  tail = tail.substr(0, kLongestStoredBlock);
  std::string out;
  const auto length = static_cast<uint32_t>(tail.size());
  out.push_back(1);  // last block, stored
  append_little_endian(out, length, 2);
  append_little_endian(out, ~length, 2);
  out.append(tail);
  append_little_endian(out, checksum_of(checksum_, tail), 4);
  append_little_endian(out, plain_size_ + length, 4);
  return out;
}

}  // namespace redline::trace
