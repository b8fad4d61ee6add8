// From the bytes that CUPTI hands over to its records.
//
// What the bytes say is not trusted: a record that is cut off or of a kind that nobody asked for is
// counted and left out. Only where a record begins is the library's to say.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <tuple>

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

/// When a kind is asked for: with each window; with memory events, since CUPTI then follows each
/// allocation; with counters where NVML is not there to read them; or
/// never: another user of CUPTI may have asked for it.
enum class Asked : uint8_t { kAlways, kWithMemory, kInPlaceOfNvml, kNever };

/// A row of the table of kinds.
template <typename RecordOfKind>
struct KindRow {
  using Record = RecordOfKind;

  Kind kind;
  Asked asked = Asked::kAlways;
  bool is_needed = false;  ///< without it a trace would have no GPU; the others only add to it
};

/// All kinds that are asked for, with their records. A new one: its record in cupti_abi.h, its row
/// here, and what becomes of it in an Activities::add().
inline constexpr std::tuple kKinds{
    KindRow<KernelRecord>{.kind = Kind::kConcurrentKernel, .is_needed = true},
    KindRow<KernelRecord>{.kind = Kind::kKernel, .asked = Asked::kNever},
    KindRow<MemcpyRecord>{.kind = Kind::kMemcpy, .is_needed = true},
    KindRow<PeerCopyRecord>{.kind = Kind::kPeerCopy},
    KindRow<MemsetRecord>{.kind = Kind::kMemset, .is_needed = true},
    KindRow<ApiRecord>{.kind = Kind::kRuntime, .is_needed = true},
    KindRow<ApiRecord>{.kind = Kind::kDriver},
    KindRow<ExternalCorrelationRecord>{.kind = Kind::kExternalCorrelation},
    KindRow<SynchronizationRecord>{.kind = Kind::kSynchronization},
    KindRow<CudaEventRecord>{.kind = Kind::kCudaEvent},
    KindRow<OverheadRecord>{.kind = Kind::kOverhead},
    KindRow<ContextRecord>{.kind = Kind::kContext},
    KindRow<StreamRecord>{.kind = Kind::kStream},
    KindRow<MemoryRecord>{.kind = Kind::kMemory, .asked = Asked::kWithMemory},
    KindRow<MemoryPoolRecord>{.kind = Kind::kMemoryPool, .asked = Asked::kWithMemory},
    KindRow<UnifiedMemoryRecord>{.kind = Kind::kUnifiedMemory, .asked = Asked::kWithMemory},
    KindRow<EnvironmentRecord>{.kind = Kind::kEnvironment, .asked = Asked::kInPlaceOfNvml}};

/// Calls use(row) for each row, until one gives true: whether one did.
template <typename Use>
bool any_kind(Use use) {
  return std::apply([&](const auto&... row) { return (use(row) || ...); }, kKinds);
}

/// How much of a record is read where CUPTI is of that version; 0: nobody asked for its kind.
inline size_t bytes_read(Kind kind, uint32_t version) {
  const bool is_kernel = kind == Kind::kKernel || kind == Kind::kConcurrentKernel;
  if (is_kernel && version < kVersion13_1) return offsetof(KernelRecord, of_later_versions);
  size_t size = 0;
  any_kind([&]<typename Record>(const KindRow<Record>& row) {
    if (row.kind == kind) size = sizeof(Record);
    return row.kind == kind;
  });
  return size;
}

/// Calls visitor.on() with the record that `bytes`, of bytes_read(), are.
template <typename Visitor>
void visit_record(std::span<const uint8_t> bytes, Kind kind, Visitor& visitor) {
  any_kind([&]<typename Record>(const KindRow<Record>& row) {
    if (row.kind != kind) return false;
    Record record;
    std::memcpy(static_cast<void*>(&record), bytes.data(), bytes.size());
    visitor.on(record);
    return true;
  });
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
