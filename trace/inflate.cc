#include "trace/inflate.h"

#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include <algorithm>
#include <memory>

namespace redline::trace {
namespace {

constexpr size_t kStepIn = 1 << 20;
constexpr size_t kStepOut = 1 << 20;

struct ZstdFree {
  void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
};

// One member of a gz file. Returns the compressed bytes it took; `sound` tells whether it ended.
class GzipMember {
 public:
  GzipMember() : state_(std::make_unique<inflate_state>()) {
    isal_inflate_init(state_.get());
    state_->crc_flag = ISAL_GZIP;
  }

  // Feeds `input` and appends to `out`. Returns an ISA-L status.
  int feed(std::string_view& input, InflateBuffer& out) {
    state_->next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(input.data()));
    state_->avail_in = static_cast<uint32_t>(std::min(input.size(), kStepIn));
    const uint32_t offered = state_->avail_in;
    int status = ISAL_DECOMP_OK;
    do {
      char* room = out.room(kStepOut);
      if (room == nullptr) return ISAL_OUT_OVERFLOW;
      state_->next_out = reinterpret_cast<uint8_t*>(room);
      state_->avail_out = kStepOut;
      status = isal_inflate(state_.get());
      out.commit(kStepOut - state_->avail_out);
    } while (status == ISAL_DECOMP_OK && !ended() && state_->avail_out == 0);
    input.remove_prefix(offered - state_->avail_in);
    return status;
  }

  [[nodiscard]] bool ended() const { return state_->block_state == ISAL_BLOCK_FINISH; }

 private:
  std::unique_ptr<inflate_state> state_;
};

}  // namespace

bool is_gzip(std::string_view file) { return file.substr(0, 2) == "\x1f\x8b"; }
bool is_zstd(std::string_view file) { return file.substr(0, 4) == "\x28\xb5\x2f\xfd"; }

void inflate_gzip(std::string_view file, InflateBuffer& out, InflateProgress& progress,
                  IssueLog& issues) {
  const auto done = [&] { return out.at_least(0).text.size(); };
  std::string_view left = file;
  while (is_gzip(left)) {
    GzipMember member;
    while (!member.ended()) {
      if (left.empty()) return issues.lost("gzip_cut", done());
      const int status = member.feed(left, out);
      progress.file_bytes = file.size() - left.size();
      if (status == ISAL_INCORRECT_CHECKSUM) {
        issues.repaired("gzip_checksum_wrong", done());
        break;
      }
      if (status == ISAL_OUT_OVERFLOW) return issues.lost("text_too_large", done());
      if (status != ISAL_DECOMP_OK) return issues.lost("gzip_damaged", done());
      if (progress.stop) return;
    }
  }
  // Zero padding behind the last member is common (tar, block devices); anything else is not ours.
  if (left.find_first_not_of('\0') != std::string_view::npos) {
    issues.lost("gzip_trailing_garbage", done());
  }
}

void inflate_zstd(std::string_view file, InflateBuffer& out, InflateProgress& progress,
                  IssueLog& issues) {
  const auto done = [&] { return out.at_least(0).text.size(); };
  const std::unique_ptr<ZSTD_DStream, ZstdFree> stream(ZSTD_createDStream());
  ZSTD_inBuffer in{file.data(), file.size(), 0};
  size_t status = 1;
  bool more_output = false;
  while ((in.pos < in.size || more_output) && !progress.stop) {
    char* room = out.room(kStepOut);
    if (room == nullptr) return issues.lost("text_too_large", done());
    ZSTD_outBuffer step{room, kStepOut, 0};
    status = ZSTD_decompressStream(stream.get(), &step, &in);
    out.commit(step.pos);
    progress.file_bytes = in.pos;
    if (ZSTD_isError(status) != 0) return issues.lost("zstd_damaged", done());
    more_output = step.pos == step.size;
  }
  if (status != 0) issues.lost("zstd_cut", done());
}

}  // namespace redline::trace
