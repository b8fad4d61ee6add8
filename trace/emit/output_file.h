// A file that grows while a job trains: its errors are kept and never fail the job, and it has its
// final name only when it is complete. base/file.h writes what is in memory as a whole.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "base/file.h"

namespace redline::trace {

/// Writes to a name of its own (by convention NAME.partial). The first error other than EINTR is
/// kept, and nothing is written after it. error() says what failed and why; it is "" as long as
/// nothing did.
class OutputFile {
 public:
  OutputFile() = default;
  /// Creates or empties `path`. If `is_private`, only the owner may read it until rename().
  explicit OutputFile(std::string path, bool is_private = false);
  OutputFile(OutputFile&& other) noexcept { swap(other); }
  OutputFile& operator=(OutputFile&& other) noexcept {
    swap(other);
    return *this;
  }

  void write(std::string_view bytes);
  void sync();
  /// Sends what was written so far on its way to the disk, so that a later sync() waits less.
  void begin_sync();
  /// Cuts the file back to its first `size` bytes.
  void truncate(uint64_t size);
  /// Gives the file its final name. That may fail, for example if something other than a file has
  /// the name, or if the name is on another file system. This sets no error(): another name may do.
  [[nodiscard]] tl::expected<void, std::string> rename(const std::string& final_path);
  void remove();

  /// Bytes at `offset`, at most as many as `size`; "" at the end or after an error.
  [[nodiscard]] std::string read(uint64_t offset, size_t size);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] uint64_t size() const { return size_; }
  [[nodiscard]] const std::string& error() const { return error_; }
  [[nodiscard]] bool ok() const { return descriptor_.was_opened() && error_.empty(); }

 private:
  void swap(OutputFile& other) noexcept;
  void fail(const char* what);

  std::string path_;
  std::string error_;
  GuardedDescriptor descriptor_;
  bool is_private_ = false;
  uint64_t size_ = 0;
  uint64_t begun_ = 0;  // the part of size_ that is on its way to the disk
};

}  // namespace redline::trace
