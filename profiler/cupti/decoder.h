// Reads CUPTI's buffers: from bytes to the records of cupti_abi.h.
//
// kKinds is the one table of kinds. Which kinds are enabled, how large their records are, and which
// struct a visitor gets all follow from it.
//
// The bytes may be wrong: another user of CUPTI may have enabled further kinds or other versions of
// them, and a buffer may end in the middle of a record. So a record that is cut off, or of a kind
// that is not in the table, is counted and skipped; nothing is read beyond the buffer. CUPTI alone
// is trusted to say where the next record begins, and its answer must lie within the buffer.
//
// A record is copied into its struct, not cast: CUPTI's version may have a shorter one than ours
// (a kernel before 13.1), and the fields that it lacks keep their defaults.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <tuple>

#include "profiler/cupti/cupti_abi.h"

namespace redline::cupti {

struct DecodeCounts {
  uint64_t records = 0;
  uint64_t unknown = 0;    ///< of a kind that is not in kKinds
  uint64_t truncated = 0;  ///< cut off by the end of their buffer

  DecodeCounts& operator+=(const DecodeCounts& more) {
    records += more.records;
    unknown += more.unknown;
    truncated += more.truncated;
    return *this;
  }
};

/// Says in which windows a kind is enabled.
enum class Asked : uint8_t {
  kAlways,
  kWithMemory,     ///< with profile_memory: CUPTI then follows each allocation, which costs time
  kWithWaits,      ///< unless the user sets REDLINE_GPU_WAITS=off
  kIfWished,       ///< with profile_memory, if the user sets REDLINE_GPU_UNIFIED_MEMORY=on
  kInPlaceOfNvml,  ///< with counters, if NVML cannot be loaded to read them
  kNever,          ///< understood because another user of CUPTI may have enabled it
};

/// A row of the table of kinds.
template <typename RecordOfKind>
struct KindRow {
  using Record = RecordOfKind;

  Kind kind;
  Asked asked = Asked::kAlways;
  bool is_needed = false;  ///< without it a trace would have no GPU; the others only add to it
};

/// All kinds that are understood, with their records. To add one: declare its record in
/// cupti_abi.h, add a row here, and handle it in an Activities::add().
inline constexpr std::tuple kKinds{
    KindRow<KernelRecord>{.kind = Kind::kConcurrentKernel, .is_needed = true},
    KindRow<KernelRecord>{.kind = Kind::kKernel, .asked = Asked::kNever},
    KindRow<MemcpyRecord>{.kind = Kind::kMemcpy, .is_needed = true},
    KindRow<PeerCopyRecord>{.kind = Kind::kPeerCopy},
    KindRow<MemsetRecord>{.kind = Kind::kMemset, .is_needed = true},
    KindRow<ApiRecord>{.kind = Kind::kRuntime, .is_needed = true},
    KindRow<ApiRecord>{.kind = Kind::kDriver},
    KindRow<ExternalCorrelationRecord>{.kind = Kind::kExternalCorrelation},
    KindRow<SynchronizationRecord>{.kind = Kind::kSynchronization, .asked = Asked::kWithWaits},
    KindRow<CudaEventRecord>{.kind = Kind::kCudaEvent, .asked = Asked::kWithWaits},
    KindRow<OverheadRecord>{.kind = Kind::kOverhead},
    KindRow<ContextRecord>{.kind = Kind::kContext},
    KindRow<StreamRecord>{.kind = Kind::kStream},
    KindRow<MemoryRecord>{.kind = Kind::kMemory, .asked = Asked::kWithMemory},
    KindRow<MemoryPoolRecord>{.kind = Kind::kMemoryPool, .asked = Asked::kWithMemory},
    KindRow<UnifiedMemoryRecord>{.kind = Kind::kUnifiedMemory, .asked = Asked::kIfWished},
    KindRow<EnvironmentRecord>{.kind = Kind::kEnvironment, .asked = Asked::kInPlaceOfNvml}};

/// Calls use(row) for each row until a call gives true. Gives whether one did.
template <typename Use>
bool any_kind(Use use) {
  return std::apply([&](const auto&... row) { return (use(row) || ...); }, kKinds);
}

/// How many bytes of a record we read, which this version of CUPTI has; 0 if the kind is not in
/// kKinds.
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

/// Calls visitor.on() with the record in `bytes`. Their number must be that of bytes_read().
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

/// Calls visit(bytes, kind) for each whole record of a filled buffer, with bytes_read() bytes.
/// `next` is cuptiActivityGetNextRecord.
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
      ++counts.truncated;  // the records behind it cannot be found
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

/// Calls visitor.on() for each whole record of a filled buffer.
template <typename Next, typename Visitor>
DecodeCounts decode_buffer(uint8_t* buffer, size_t valid_size, uint32_t version, Next next,
                           Visitor& visitor) {
  return for_each_record(
      buffer, valid_size, version, next,
      [&](std::span<const uint8_t> bytes, Kind kind) { visit_record(bytes, kind, visitor); });
}

}  // namespace redline::cupti
