// The text of a trace in memory: a plain file mapped, a compressed one inflated into a buffer.
//
// A mapped gigabyte costs no memory that the kernel cannot take back, and events keep their args
// there until asked for; so a Trace owns its Text.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "trace/issues.h"
#include "trace/reader.h"

namespace redline::trace {

/// Bytes that grow without being initialised or copied by hand (realloc moves pages).
class GrowingBuffer {
 public:
  GrowingBuffer() = default;
  GrowingBuffer(GrowingBuffer&& other) noexcept;
  GrowingBuffer& operator=(GrowingBuffer&& other) noexcept;
  GrowingBuffer(const GrowingBuffer&) = delete;
  GrowingBuffer& operator=(const GrowingBuffer&) = delete;
  ~GrowingBuffer();

  /// Makes room for `bytes` more and returns where they go; nullptr if memory is short.
  [[nodiscard]] char* reserve_more(size_t bytes);
  void commit(size_t bytes) { size_ += bytes; }
  [[nodiscard]] std::string_view view() const { return {data_, size_}; }

 private:
  char* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

class Text {
 public:
  /// Maps or inflates the file. Told by magic bytes: gz (also of several members), zst, else plain.
  [[nodiscard]] static tl::expected<std::shared_ptr<const Text>, ReadError> load(
      const std::string& path, const ReadOptions& options, IssueLog& issues);

  /// For text that is already in memory.
  [[nodiscard]] static std::shared_ptr<const Text> of(std::string_view content);

  Text() = default;
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;
  ~Text();

  [[nodiscard]] std::string_view view() const { return view_; }

 private:
  std::string_view view_;
  GrowingBuffer buffer_;     // of a compressed file
  void* mapping_ = nullptr;  // of a plain one
  size_t mapping_bytes_ = 0;
};

}  // namespace redline::trace
