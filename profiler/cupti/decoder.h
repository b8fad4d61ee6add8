// From the bytes that CUPTI hands over to its records.
//
// What the bytes say is not trusted: a record that is cut off or of a kind that nobody asked for is
// counted and left out. Only where a record begins is the library's to say.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "profiler/cupti/cupti_abi.h"

namespace redline::cupti {

struct DecodeCounts {
  uint64_t records = 0;
  uint64_t unknown = 0;    ///< of another kind
  uint64_t truncated = 0;  ///< cut off by the end of their buffer
};

enum class Decoded { kRecord, kUnknown, kTruncated };

namespace detail {
template <typename Record, typename Visitor>
Decoded visit_as(std::span<const uint8_t> bytes, Visitor& visitor) {
  if (bytes.size() < sizeof(Record)) return Decoded::kTruncated;
  Record record;
  std::memcpy(&record, bytes.data(), sizeof(Record));
  visitor.on(record);
  return Decoded::kRecord;
}
}  // namespace detail

/// Calls visitor.on() with the record that `bytes` begin with; they reach to the buffer's end.
template <typename Visitor>
Decoded decode(std::span<const uint8_t> bytes, Visitor& visitor) {
  Kind kind = {};
  if (bytes.size() < sizeof(kind)) return Decoded::kTruncated;
  std::memcpy(&kind, bytes.data(), sizeof(kind));
  switch (kind) {
    case Kind::kKernel:
    case Kind::kConcurrentKernel:
      return detail::visit_as<KernelRecord>(bytes, visitor);
    case Kind::kMemcpy:
      return detail::visit_as<MemcpyRecord>(bytes, visitor);
    case Kind::kPeerCopy:
      return detail::visit_as<PeerCopyRecord>(bytes, visitor);
    case Kind::kMemset:
      return detail::visit_as<MemsetRecord>(bytes, visitor);
    case Kind::kRuntime:
    case Kind::kDriver:
      return detail::visit_as<ApiRecord>(bytes, visitor);
    case Kind::kExternalCorrelation:
      return detail::visit_as<ExternalCorrelationRecord>(bytes, visitor);
    case Kind::kSynchronization:
      return detail::visit_as<SynchronizationRecord>(bytes, visitor);
    case Kind::kCudaEvent:
      return detail::visit_as<CudaEventRecord>(bytes, visitor);
    case Kind::kOverhead:
      return detail::visit_as<OverheadRecord>(bytes, visitor);
    case Kind::kContext:
      return detail::visit_as<ContextRecord>(bytes, visitor);
  }
  return Decoded::kUnknown;
}

/// All records of a filled buffer; `next` is cuptiActivityGetNextRecord.
template <typename Next, typename Visitor>
DecodeCounts decode_buffer(uint8_t* buffer, size_t valid_size, Next next, Visitor& visitor) {
  DecodeCounts counts;
  uint8_t* record = nullptr;
  const uint8_t* end = buffer + valid_size;
  for (;;) {
    const uint8_t* before = record;
    const Result result = next(buffer, valid_size, &record);
    if (result == kMaxLimitReached) return counts;
    const bool is_inside = record >= buffer && record < end && record != before;
    if (result != kSuccess || !is_inside) {
      ++counts.truncated;  // the rest cannot be found
      return counts;
    }
    switch (decode({record, static_cast<size_t>(end - record)}, visitor)) {
      case Decoded::kRecord:
        ++counts.records;
        break;
      case Decoded::kUnknown:
        ++counts.unknown;
        break;
      case Decoded::kTruncated:
        ++counts.truncated;
        break;
    }
  }
}

}  // namespace redline::cupti
