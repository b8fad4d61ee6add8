// Writes the file of a rank's step log. A full disk costs entries, which are counted, but never the
// training.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "base/file.h"
#include "trace/emit/step_log_blocks.h"

namespace redline::trace {

/// The log with the older half of its single steps joined to minutes; "" if there is nothing to
/// join.
[[nodiscard]] std::string thinned_log(std::string_view log);

class StepLogWriter {
 public:
  /// Makes `folder` if it is missing, and in it "rank0.steps.redline", or "rank0.2.steps.redline"
  /// if that exists, so that a job which is started again keeps its earlier log.
  [[nodiscard]] static tl::expected<std::unique_ptr<StepLogWriter>, std::string> create(
      const std::string& folder, LogOwner owner);
  StepLogWriter(const StepLogWriter&) = delete;
  StepLogWriter& operator=(const StepLogWriter&) = delete;

  /// Appends the whole block or nothing of it; in the latter case error() says why.
  [[nodiscard]] bool append(LogBlock block);
  [[nodiscard]] const std::string& error() const { return error_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const LogOwner& owner() const { return owner_; }

  /// After each growth by `bytes` the file is thinned out.
  void set_thinning(uint64_t bytes) { thinning_bytes_ = bytes; }

 private:
  StepLogWriter(std::string path, int descriptor, LogOwner owner)
      : path_(std::move(path)), descriptor_(descriptor), owner_(std::move(owner)) {}
  bool write(std::string_view bytes);
  void thin();

  std::string path_;
  GuardedDescriptor descriptor_;
  LogOwner owner_;
  std::string error_;
  uint64_t size_ = 0;
  uint64_t size_thinned_ = 0;  // the size when it was last thinned out
  uint64_t thinning_bytes_ = uint64_t{8} << 20;
  int64_t owner_told_ns_ = 0;
};

}  // namespace redline::trace
