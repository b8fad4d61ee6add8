// The bytes of a step log: blocks, each readable by itself, so that what a killed process or a
// damaged disk leaves costs no more than the blocks it has hit.
//
// A block is "RSL1", the payload's length and CRC-32 (little-endian), and the payload: the moment
// it was written, which all its times are relative to, then sections of a tag, a length and
// content, so that a reader passes over those it does not know. Numbers are varints, signed ones
// zigzag. Steps are columns of differences: ten steps a second come to about 0.6 MB an hour.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/emit/step_log_terms.h"

namespace redline::trace {

/// Whose log it is; in the first block and again every few minutes.
struct LogOwner {
  std::string run;
  int rank = 0;
  int world_size = 1;
  std::string host;
  std::string command;
  int64_t process = 0;
  int64_t begin_ns = 0;
  int64_t clock_offset_ns = 0;
  bool operator==(const LogOwner&) const = default;
};

struct LogBlock {
  int64_t sign_ns = 0;          ///< when it was written: a sign of life
  std::optional<LogPart> part;  ///< what the process was in then
  int64_t part_since_ns = 0;
  std::optional<LogOwner> owner;
  std::vector<LoggedStep> steps;
  std::vector<LoggedMemory> memory;
  std::vector<LogMark> marks;
  int64_t lost_steps = 0;  ///< since the log began, as lost_marks
  int64_t lost_marks = 0;
  int64_t thinned_before_ns = 0;
  bool ended = false;
  std::optional<int> exit_status;
  bool operator==(const LogBlock&) const = default;
};

/// Times and lengths are kept to the microsecond.
[[nodiscard]] std::string encode_block(const LogBlock& block);

/// The block of such a payload.
[[nodiscard]] std::string frame_of(std::string_view payload);

/// Finds the sound blocks in bytes of any kind, one after the other.
class BlockScan {
 public:
  explicit BlockScan(std::string_view bytes) : bytes_(bytes) {}

  /// None at the end.
  [[nodiscard]] std::optional<LogBlock> next();
  /// Of those passed over, that belong to no sound block.
  [[nodiscard]] int64_t damaged_bytes() const { return damaged_; }

 private:
  std::string_view bytes_;
  size_t at_ = 0;
  int64_t damaged_ = 0;
};

}  // namespace redline::trace
