// The bytes of a step log. It consists of blocks that can each be read alone, so that a killed
// process or a damaged disk only costs the blocks that were hit.
//
// A block is "RSL1", the payload's length and CRC-32 (little-endian), and the payload. The payload
// begins with the time when it was written, to which all its times are relative. Sections follow,
// each with a tag, a length and its content, so that a reader can skip sections that it does not
// know. Numbers are varints, signed ones in zigzag form. Steps are stored as columns of
// differences, so ten steps a second take about 0.6 MB an hour.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/emit/step_log_terms.h"

namespace redline::trace {

struct LogBlock {
  int64_t sign_ns = 0;          ///< when the block was written, which is a sign of life
  std::optional<LogPart> part;  ///< the part that the process was in at that time
  int64_t part_since_ns = 0;
  std::optional<LogOwner> owner;  ///< in the first block and again every few minutes
  std::vector<LoggedStep> steps;
  std::vector<LoggedMemory> memory;
  std::vector<LoggedCores> cores;
  std::vector<LogMark> marks;
  int64_t lost_steps = 0;  ///< since the log began, like lost_marks
  int64_t lost_marks = 0;
  int64_t thinned_before_ns = 0;
  bool ended = false;
  std::optional<int> exit_status;
  bool operator==(const LogBlock&) const = default;
};

/// Times and lengths are kept to the microsecond.
[[nodiscard]] std::string encode_block(const LogBlock& block);

/// Makes a block of a payload.
[[nodiscard]] std::string frame_of(std::string_view payload);

/// Finds the sound blocks in bytes of any kind, one after the other.
class BlockScan {
 public:
  explicit BlockScan(std::string_view bytes) : bytes_(bytes) {}

  /// The next block; nullopt at the end.
  [[nodiscard]] std::optional<LogBlock> next();
  /// How many of the bytes passed so far belong to no sound block.
  [[nodiscard]] int64_t damaged_bytes() const { return damaged_; }

 private:
  std::string_view bytes_;
  size_t at_ = 0;
  int64_t damaged_ = 0;
};

}  // namespace redline::trace
