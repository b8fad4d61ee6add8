// A compressed file that is written while a job trains, and that gets its final name and its last
// bytes when it is saved.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "trace/emit/gzip_encoder.h"
#include "trace/emit/output_file.h"
#include "trace/emit/write_pace.h"

namespace redline::trace {

class SpooledFile {
 public:
  SpooledFile() = default;
  /// Spools into `path`, a name of its own such as NAME.partial.
  /// With a pace, what comes faster waits in memory, up to kMostWaiting; then append() and flush()
  /// wait, and save() always does. It must outlive the file.
  /// If `is_private`, nobody else may read the spool.
  explicit SpooledFile(std::string path, WritePace* pace = nullptr, bool is_private = false)
      : file_(std::move(path), is_private), pace_(pace) {}
  /// Removes a spool that was never saved, unless an error cut it short or the last save to a name
  /// with ".gz" failed: then it stays, readable up to there.
  ~SpooledFile();
  SpooledFile(const SpooledFile&) = delete;
  SpooledFile& operator=(const SpooledFile&) = delete;

  void append(std::string_view text);
  /// Holds for the text from here on.
  void set_effort(DeflateEffort effort) { encoder_.set_effort(effort); }
  /// Brings all text so far into the file, so that it is readable even after kill -9, but for what
  /// the pace holds back.
  void flush();
  /// After flush(): whether all text so far is in the file.
  [[nodiscard]] bool is_written() const { return compressed_.empty(); }

  /// Why no trace is written under this name, such as NAME.zst; "" if it may be.
  [[nodiscard]] static std::string problem_of_name(const std::string& path);
  /// Writes the text and `tail` (at most 65,535 bytes) to `path`, complete and synchronised or not
  /// at all; gzip where the name ends in ".gz", else plain. The first gzip save on the spool's own
  /// file system moves the spool there; later ones copy. After a failed one another name may do.
  /// Call flush() first.
  [[nodiscard]] tl::expected<void, std::string> save(const std::string& path,
                                                     std::string_view tail);

  /// Removes the spool, also one that an error has cut short.
  void drop();

  /// "" or why nothing more is written.
  [[nodiscard]] const std::string& error() const { return file_.error(); }
  [[nodiscard]] uint64_t bytes_written() const { return file_.size(); }
  [[nodiscard]] const std::string& path() const { return file_.path(); }

  static constexpr size_t kMostWaiting = size_t{16} << 20;

 private:
  enum class Wait : bool { kNo, kYes };

  void write_out(Wait wait);
  /// Writes `bytes` to `out` no faster than the pace.
  void write_paced(OutputFile& out, std::string_view bytes);
  [[nodiscard]] bool move_to(const std::string& path, std::string_view tail);
  [[nodiscard]] tl::expected<void, std::string> copy_to(const std::string& path, bool gzip,
                                                        std::string_view tail);
  /// False if the spool does not hold what was written, because somebody else has changed it.
  [[nodiscard]] bool copy_compressed(OutputFile& out);
  [[nodiscard]] bool copy_plain(OutputFile& out);

  OutputFile file_;
  GzipEncoder encoder_;
  std::string compressed_;  ///< not in the file yet
  WritePace* pace_ = nullptr;
  uint64_t body_size_ = 0;   ///< compressed bytes before any tail
  bool saved_ = false;       ///< the spool has a final name
  bool is_refused_ = false;  ///< by the last name with ".gz" that the trace was to get
};

}  // namespace redline::trace
