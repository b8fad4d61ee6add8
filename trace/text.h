// The text of a trace in memory: a plain file mapped, a compressed one inflated while it is read.
//
// A mapped gigabyte costs no memory that the kernel cannot take back, and events keep their args
// there until asked for; so a Trace owns its Text.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <tl/expected.hpp>

#include "trace/inflate.h"
#include "trace/issues.h"
#include "trace/reader.h"

namespace redline::trace {

class Text {
 public:
  using Part = InflateBuffer::Part;

  /// Maps a plain file, or begins to inflate a compressed one on a thread of its own. Told by magic
  /// bytes: gz (also of several members), zst, else plain.
  [[nodiscard]] static tl::expected<std::shared_ptr<const Text>, ReadError> load(
      const std::string& path, const ReadOptions& options);

  /// For text that is already in memory.
  [[nodiscard]] static std::shared_ptr<const Text> of(std::string_view content);

  Text() = default;
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;
  ~Text();

  /// The text so far, once it has `bytes` or is whole.
  [[nodiscard]] Part at_least(size_t bytes) const;
  /// The whole text; waits for it.
  [[nodiscard]] std::string_view view() const { return at_least(SIZE_MAX).text; }
  /// What inflating had to leave out; waits for its end.
  [[nodiscard]] IssueLog issues() const;

  /// How many of the file's bytes stand for the text up to `at`, about.
  [[nodiscard]] size_t file_bytes(size_t at) const;
  [[nodiscard]] size_t file_size() const { return file_.size(); }

 private:
  void inflate();

  std::string copy_;  // of text that was in memory
  std::string_view file_;
  void* mapping_ = nullptr;
  size_t mapping_bytes_ = 0;

  std::optional<InflateBuffer> inflated_;  // of a compressed file
  InflateProgress progress_;
  IssueLog issues_;
  std::thread inflater_;
};

}  // namespace redline::trace
