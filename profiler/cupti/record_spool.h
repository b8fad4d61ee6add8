// Where records wait that come faster than they can be written: a file without a name in the folder
// of the trace, so that nothing of it outlives the process. Each record lies there as much as is
// read of it, behind its length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

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

  /// Where they lie now; none where the disk takes no more.
  [[nodiscard]] std::optional<Extent> write(std::span<const uint8_t> bytes);
  /// False where the disk gives them back no more. From another thread than write(), too.
  [[nodiscard]] bool read(const Extent& extent, std::vector<uint8_t>& bytes) const;
  /// Nothing of what was written is needed any more.
  void clear();

 private:
  [[nodiscard]] bool open();
  /// To what was written whole.
  void shorten();

  const std::string folder_;
  int file_ = -1;
  uint64_t end_ = 0;
};

/// Appends the records of a buffer of CUPTI's; what is left out is counted.
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

/// What cuptiActivityGetNextRecord is for CUPTI's own buffers.
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
