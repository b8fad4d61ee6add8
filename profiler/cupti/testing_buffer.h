// For tests: the bytes of a buffer as CUPTI fills it, without its stub.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "profiler/cupti/cupti_abi.h"

extern "C" int cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid_size, uint8_t** record);

namespace redline::cupti {

// Sizes of records in CUDA 13.0.
constexpr size_t bytes_of(const KernelRecord&) { return 216; }
constexpr size_t bytes_of(const MemsetRecord&) { return 88; }
constexpr size_t bytes_of(const ApiRecord&) { return 40; }
constexpr size_t bytes_of(const ExternalCorrelationRecord&) { return 24; }
constexpr size_t bytes_of(const CudaEventRecord&) { return 56; }
constexpr size_t bytes_of(const SynchronizationRecord&) { return 56; }
constexpr size_t bytes_of(const Kind&) {
  return 56;
}  ///< of a kind that nobody asked for, such as 12

struct FilledBytes : std::vector<uint8_t> {
  template <typename Record>
  void add(const Record& record) {
    add_part(record, bytes_of(record));
  }
  /// Adds a record that is cut off behind so many bytes.
  template <typename Record>
  void add_part(const Record& record, size_t size) {
    const size_t begin = this->size();
    resize(begin + size);
    std::memcpy(data() + begin, &record, std::min(size, sizeof(record)));
  }
};

}  // namespace redline::cupti
