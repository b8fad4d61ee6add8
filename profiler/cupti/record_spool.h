// A file in which records wait if they come faster than they are read. It is in the folder of the
// trace and has no name, so that it does not outlive the process. The file holds the part of each
// record that we read, behind its length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "profiler/cupti/decoder.h"

namespace redline::cupti {

class RecordSpool {
 public:
  static constexpr uint64_t kMostBytes = uint64_t{4} << 30;

  struct Extent {
    uint64_t offset = 0;
    size_t size = 0;
  };

  explicit RecordSpool(std::string folder) : folder_(std::move(folder)) {}
  ~RecordSpool();
  RecordSpool(const RecordSpool&) = delete;
  RecordSpool& operator=(const RecordSpool&) = delete;

  /// Gives the place of the bytes in the file; nullopt if they do not fit on the disk.
  [[nodiscard]] std::optional<Extent> write(std::span<const uint8_t> bytes);
  /// False if the file cannot be read. May be called while another thread calls write().
  [[nodiscard]] bool read(const Extent& extent, std::vector<uint8_t>& bytes) const;
  /// Empties the file.
  void clear();

 private:
  [[nodiscard]] bool open();
  /// Cuts the file behind the last bytes that were written completely.
  void shorten();

  const std::string folder_;
  GuardedDescriptor file_;
  uint64_t end_ = 0;
};

/// Appends the records of a CUPTI buffer to `compacted`. Gives how many were kept and left out.
template <typename Next>
DecodeCounts compact(uint8_t* buffer, size_t valid_size, uint32_t version, Next next,
                     std::vector<uint8_t>& compacted) {
  return for_each_record(buffer, valid_size, version, next,
                         [&](std::span<const uint8_t> bytes, Kind) {
                           const auto length = static_cast<uint32_t>(bytes.size());
                           const auto* head = reinterpret_cast<const uint8_t*>(&length);
                           compacted.insert(compacted.end(), head, head + sizeof(length));
                           compacted.insert(compacted.end(), bytes.begin(), bytes.end());
                         });
}

/// Does for compacted records what cuptiActivityGetNextRecord does for CUPTI's buffers.
inline Result next_compact(uint8_t* buffer, size_t valid_size, uint8_t** record) {
  uint32_t length = 0;
  uint8_t* head = buffer;
  if (*record != nullptr) {
    std::memcpy(&length, *record - sizeof(length), sizeof(length));
    head = *record + length;
  }
  const auto rest = static_cast<size_t>(buffer + valid_size - head);
  if (rest <= sizeof(length)) return kMaxLimitReached;
  *record = head + sizeof(length);
  return kSuccess;
}

}  // namespace redline::cupti
