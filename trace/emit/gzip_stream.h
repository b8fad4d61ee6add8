// Inflates a gz file step by step.
#pragma once

#include <isa-l/igzip_lib.h>

#include <cstddef>
#include <span>
#include <string_view>

namespace redline::trace {

/// All members of a gz file, one behind the other. A copy goes on from where it was made: it holds
/// the last 32 kB of text, which is all that gzip looks back.
class GzipStream {
 public:
  enum class Status {
    kMore,  ///< `out` is full
    kEnd,
    kWrongChecksum,  ///< of the member that just ended; its text was given, and others may follow
    kCut,
    kDamaged,
    kTrailingGarbage,
  };
  struct Step {
    size_t bytes = 0;  ///< of text
    Status status = Status::kMore;
  };

  /// `file` must outlive the stream and its copies.
  explicit GzipStream(std::string_view file) : file_(file) {}

  /// Inflates into `out` until it is full or the status is not kMore.
  [[nodiscard]] Step read(std::span<char> out);
  /// How many of the file's bytes have been read.
  [[nodiscard]] size_t file_bytes() const { return at_; }

 private:
  [[nodiscard]] Status behind_members() const;
  [[nodiscard]] size_t feed(std::span<char> out, int& status);

  std::string_view file_;
  size_t at_ = 0;
  bool in_member_ = false;
  inflate_state state_ = {};
};

[[nodiscard]] bool is_gzip(std::string_view file);

}  // namespace redline::trace
