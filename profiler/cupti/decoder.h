// From the bytes that CUPTI hands over to its records.
//
// What the bytes say is not trusted: a record that is cut off or of a kind that nobody asked for is
// counted and left out. Only where a record begins is the library's to say.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "profiler/cupti/cupti_abi.h"

namespace redline::cupti {

struct DecodeCounts {
  uint64_t records = 0;
  uint64_t unknown = 0;    ///< of another kind
  uint64_t truncated = 0;  ///< cut off by the end of their buffer

  DecodeCounts& operator+=(const DecodeCounts& more) {
    records += more.records;
    unknown += more.unknown;
    truncated += more.truncated;
    return *this;
  }
};

namespace detail {

template <typename Record>
struct Type {
  using type = Record;
};

/// What `use` makes of the type of that kind's records; its default for a kind not asked for.
template <typename Use>
auto with_type(Kind kind, Use use) {
  switch (kind) {
    case Kind::kKernel:
    case Kind::kConcurrentKernel:
      return use(Type<KernelRecord>());
    case Kind::kMemcpy:
      return use(Type<MemcpyRecord>());
    case Kind::kPeerCopy:
      return use(Type<PeerCopyRecord>());
    case Kind::kMemset:
      return use(Type<MemsetRecord>());
    case Kind::kRuntime:
    case Kind::kDriver:
      return use(Type<ApiRecord>());
    case Kind::kExternalCorrelation:
      return use(Type<ExternalCorrelationRecord>());
    case Kind::kSynchronization:
      return use(Type<SynchronizationRecord>());
    case Kind::kCudaEvent:
      return use(Type<CudaEventRecord>());
    case Kind::kOverhead:
      return use(Type<OverheadRecord>());
    case Kind::kMemory:
      return use(Type<MemoryRecord>());
    case Kind::kMemoryPool:
      return use(Type<MemoryPoolRecord>());
    case Kind::kUnifiedMemory:
      return use(Type<UnifiedMemoryRecord>());
    case Kind::kStream:
      return use(Type<StreamRecord>());
    case Kind::kContext:
      return use(Type<ContextRecord>());
    case Kind::kEnvironment:
      return use(Type<EnvironmentRecord>());
  }
  return decltype(use(Type<KernelRecord>())){};
}

}  // namespace detail

/// How much of a record is read where CUPTI is of that version; 0: nobody asked for its kind.
inline size_t bytes_read(Kind kind, uint32_t version) {
  const bool is_kernel = kind == Kind::kKernel || kind == Kind::kConcurrentKernel;
  if (is_kernel && version < kVersion13_1) return offsetof(KernelRecord, of_later_versions);
  return detail::with_type(kind, [](auto type) { return sizeof(typename decltype(type)::type); });
}

/// Calls visitor.on() with the record that `bytes`, of bytes_read(), are.
template <typename Visitor>
void visit_record(std::span<const uint8_t> bytes, Kind kind, Visitor& visitor) {
  static_cast<void>(detail::with_type(kind, [&](auto type) {
    typename decltype(type)::type record;
    std::memcpy(static_cast<void*>(&record), bytes.data(), bytes.size());
    visitor.on(record);
    return true;
  }));
}

/// Gives what is read of each whole record of a filled buffer, and its kind, to `visit`.
template <typename Next, typename Visit>
DecodeCounts for_each_record(uint8_t* buffer, size_t valid_size, uint32_t version, Next next,
                             Visit visit) {
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
    const std::span<const uint8_t> rest(record, static_cast<size_t>(end - record));
    Kind kind = {};
    if (rest.size() >= sizeof(kind)) std::memcpy(&kind, rest.data(), sizeof(kind));
    const size_t size = bytes_read(kind, version);
    if (rest.size() < sizeof(kind) || rest.size() < size) {
      ++counts.truncated;
    } else if (size == 0) {
      ++counts.unknown;
    } else {
      ++counts.records;
      visit(rest.first(size), kind);
    }
  }
}

/// All records of a filled buffer; `next` is cuptiActivityGetNextRecord.
template <typename Next, typename Visitor>
DecodeCounts decode_buffer(uint8_t* buffer, size_t valid_size, uint32_t version, Next next,
                           Visitor& visitor) {
  return for_each_record(
      buffer, valid_size, version, next,
      [&](std::span<const uint8_t> bytes, Kind kind) { visit_record(bytes, kind, visitor); });
}

}  // namespace redline::cupti
