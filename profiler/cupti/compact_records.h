// Records of CUPTI's as they wait on disk: what is read of each, behind its length.
#pragma once

#include <cstdint>
#include <vector>

#include "profiler/cupti/decoder.h"

namespace redline::cupti {

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
