// The text of a trace in memory: a plain file mapped, a compressed one inflated while it is read.
//
// A mapped gigabyte costs no memory that the kernel cannot take back, and events keep their args
// there until asked for; so a Trace owns its Text.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <tl/expected.hpp>

#include "trace/file_stamp.h"
#include "trace/inflate.h"
#include "trace/issues.h"
#include "trace/reader.h"

namespace redline::trace {

class Text {
 public:
  using Part = InflateBuffer::Part;

  /// Maps a file. A compressed one is inflated on a thread of its own, from the first time that its
  /// text is asked for. Told by magic bytes: gz (also of several members), zst, else plain.
  [[nodiscard]] static tl::expected<std::shared_ptr<const Text>, ReadError> open(
      const std::string& path, const ReadOptions& options);
  /// The same once check()ed.
  [[nodiscard]] static tl::expected<std::shared_ptr<const Text>, ReadError> load(
      const std::string& path, const ReadOptions& options);

  /// For text that is already in memory.
  [[nodiscard]] static std::shared_ptr<const Text> of(std::string_view content);

  Text() = default;
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;
  ~Text();

  /// Begins to inflate. An error where a compressed file holds nothing readable.
  [[nodiscard]] tl::expected<void, ReadError> check(const std::string& path) const;

  /// The text so far, once it has `bytes` or is whole.
  [[nodiscard]] Part at_least(size_t bytes) const;
  /// The whole text; waits for it.
  [[nodiscard]] std::string_view view() const { return at_least(SIZE_MAX).text; }
  /// What inflating had to leave out; waits for its end.
  [[nodiscard]] IssueLog issues() const;

  /// How many of the file's bytes stand for the text up to `at`, about.
  [[nodiscard]] size_t file_bytes(size_t at) const;
  [[nodiscard]] size_t file_size() const { return file_.size(); }
  /// The file's state when it was opened.
  [[nodiscard]] const FileStamp& stamp() const { return stamp_; }

 private:
  /// A compressed file on its way to text.
  struct Inflation {
    Inflation(size_t largest, size_t memory_bytes) : buffer(largest, memory_bytes) {}
    void run(std::string_view file);
    void begin(std::string_view file);

    InflateBuffer buffer;
    InflateProgress progress;
    IssueLog issues;
    std::once_flag begun;
    std::thread thread;
  };

  std::string copy_;  // of text that was in memory
  std::string_view file_;
  void* mapping_ = nullptr;
  size_t mapping_bytes_ = 0;

  FileStamp stamp_;
  std::unique_ptr<Inflation> inflation_;  // of a compressed file
};

}  // namespace redline::trace
