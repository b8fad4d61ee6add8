// The text of a trace in memory: a plain file is mapped, a compressed one is inflated while it is
// read.
//
// The kernel can take the memory of a mapped gigabyte back at any time, and the args of events stay
// in the text until somebody asks for them; so a Trace owns its Text.
#pragma once

#include <sys/stat.h>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <tl/expected.hpp>

#include "trace/model/issues.h"
#include "trace/read/inflate.h"
#include "trace/read/reader.h"

namespace redline::trace {

struct FileStamp {
  uint64_t bytes = 0;
  uint64_t inode = 0;
  int64_t modified_s = 0;
  int64_t modified_ns = 0;

  [[nodiscard]] static FileStamp of(const struct stat& info) {
    return {static_cast<uint64_t>(info.st_size), info.st_ino, info.st_mtim.tv_sec,
            info.st_mtim.tv_nsec};
  }
  bool operator==(const FileStamp&) const = default;
};

class Text {
 public:
  using Part = InflateBuffer::Part;

  /// Maps a file. A compressed one is inflated on a thread of its own, from the first time that its
  /// text is asked for. Magic bytes tell which it is: gz (also of several members), zst, else
  /// plain.
  [[nodiscard]] static tl::expected<std::shared_ptr<const Text>, ReadError> open(
      const std::string& path, const ReadOptions& options);
  /// open(), then check().
  [[nodiscard]] static tl::expected<std::shared_ptr<const Text>, ReadError> load(
      const std::string& path, const ReadOptions& options);

  /// For text that is already in memory.
  [[nodiscard]] static std::shared_ptr<const Text> of(std::string_view content);

  Text() = default;
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;
  ~Text();

  /// Begins to inflate. Returns an error if a compressed file holds nothing readable.
  [[nodiscard]] tl::expected<void, ReadError> check(const std::string& path) const;

  /// Waits until the text has `bytes` or is whole, and returns it. For callers that read it from
  /// begin to end.
  [[nodiscard]] Part at_least(size_t bytes) const;
  /// Waits for the whole text.
  [[nodiscard]] size_t size() const { return at_least(SIZE_MAX).text.size(); }
  /// Says that [from, to) has been read. A compressed file's text there may be forgotten, and a
  /// plain file's pages need not count as this process's memory. `to` grows from call to call.
  void release(size_t from, size_t to) const;
  /// Says that all has been read. What at_least() returned may not be read any more.
  void release_all() const;

  /// A part of the text that can be read while this lives.
  class Hold {
   public:
    Hold() = default;
    Hold(Hold&& other) noexcept { swap(other); }
    Hold& operator=(Hold other) noexcept {
      swap(other);
      return *this;
    }
    ~Hold();

    /// Whether it has all of [from, to), or at least all of it that the text has.
    [[nodiscard]] bool contains(uint64_t from, uint64_t to) const {
      return from_ <= from && from < to_ && (to <= to_ || !is_cut_);
    }
    /// The text from `offset` on, as far as it is held; empty if none of it is.
    [[nodiscard]] std::string_view from(uint64_t offset) const {
      return from_ <= offset && offset < to_ ? text_.substr(offset, to_ - offset) : "";
    }
    /// Whether the text goes on behind this part.
    [[nodiscard]] bool is_cut() const { return is_cut_; }

   private:
    friend class Text;
    void swap(Hold& other) noexcept;

    const Text* owner_ = nullptr;  ///< null: there is nothing to let go
    std::string_view text_;
    uint64_t from_ = 0;
    uint64_t to_ = 0;
    bool is_cut_ = false;
  };
  /// The blocks around [offset, offset + bytes), less at the text's end; nothing if the file has
  /// become shorter since it was opened.
  [[nodiscard]] Hold hold(uint64_t offset, size_t bytes) const;
  /// Like hold(), but the text stays readable as long as this Text lives.
  [[nodiscard]] std::string_view keep(uint64_t offset, size_t bytes) const;
  /// Ends the text of a compressed file with what is inflated by now.
  void end_here() const;
  /// What inflating had to leave out; waits for its end.
  [[nodiscard]] IssueLog issues() const;

  /// About how many of the file's bytes stand for the text up to `at`.
  [[nodiscard]] size_t file_bytes(size_t at) const;
  [[nodiscard]] size_t file_size() const { return file_.size(); }
  /// The file's state when it was opened.
  [[nodiscard]] const FileStamp& stamp() const { return stamp_; }
  /// Whether the file was written since then: what was read of it may stand elsewhere now.
  [[nodiscard]] bool is_changed() const { return stamp_now() != stamp_; }

 private:
  /// A compressed file on its way to text.
  struct Inflation {
    explicit Inflation(const InflateBuffer::Limits& limits) : buffer(limits) {}
    void run(std::string_view file);
    void begin(std::string_view file);

    InflateBuffer buffer;
    std::atomic<size_t> file_bytes = 0;  ///< done
    IssueLog issues;
    std::once_flag begun;
    std::thread thread;
  };

  [[nodiscard]] FileStamp stamp_now() const;
  /// Whether the mapping has pages behind the file's end. To read one of them would be a SIGBUS.
  [[nodiscard]] bool is_cut() const { return stamp_now().bytes < stamp_.bytes; }
  /// Waits until the text reaches `end` or is whole. For callers that hold what they read of it.
  [[nodiscard]] Part reach(uint64_t end) const;

  std::string copy_;  // of text that was in memory
  std::string_view file_;
  void* mapping_ = nullptr;
  size_t mapping_bytes_ = 0;
  mutable std::atomic<size_t> released_to_ = 0;  ///< of the mapping

  std::string path_;  // empty: of text that was in memory
  FileStamp stamp_;
  std::unique_ptr<Inflation> inflation_;  // of a compressed file
};

}  // namespace redline::trace
