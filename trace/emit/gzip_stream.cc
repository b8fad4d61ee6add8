#include "trace/emit/gzip_stream.h"

#include <algorithm>

namespace redline::trace {
namespace {

constexpr size_t kStepIn = 1 << 20;

}  // namespace

bool is_gzip(std::string_view file) { return file.substr(0, 2) == "\x1f\x8b"; }

GzipStream::Step GzipStream::read(std::span<char> out) {
  Step step;
  while (step.bytes < out.size()) {
    if (!in_member_) {
      if (!is_gzip(file_.substr(at_))) return {step.bytes, behind_members()};
      isal_inflate_init(&state_);
      state_.crc_flag = ISAL_GZIP;
      in_member_ = true;
    }
    int status = ISAL_DECOMP_OK;
    const size_t before = at_;
    const size_t bytes = feed(out.subspan(step.bytes), status);
    step.bytes += bytes;
    in_member_ = state_.block_state != ISAL_BLOCK_FINISH;
    if (status == ISAL_INCORRECT_CHECKSUM) {
      in_member_ = false;
      return {step.bytes, Status::kWrongChecksum};
    }
    if (status != ISAL_DECOMP_OK) return {step.bytes, Status::kDamaged};
    if (in_member_ && bytes == 0 && at_ == before) return {step.bytes, Status::kCut};
  }
  return step;
}

size_t GzipStream::feed(std::span<char> out, int& status) {
  const size_t offered = std::min(file_.size() - at_, kStepIn);
  const auto room = static_cast<uint32_t>(std::min<size_t>(out.size(), UINT32_MAX));
  state_.next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(file_.data() + at_));
  state_.avail_in = static_cast<uint32_t>(offered);
  state_.next_out = reinterpret_cast<uint8_t*>(out.data());
  state_.avail_out = room;
  status = isal_inflate(&state_);
  at_ += offered - state_.avail_in;
  return room - state_.avail_out;
}

// Zero padding behind the last member is common (tar, block devices); anything else is not ours.
GzipStream::Status GzipStream::behind_members() const {
  const bool is_padding = file_.find_first_not_of('\0', at_) == std::string_view::npos;
  return is_padding ? Status::kEnd : Status::kTrailingGarbage;
}

}  // namespace redline::trace
