// One recorded event, as it waits for the writer thread: 48 bytes without pointers, one size for
// all kinds, so that a thread's chunk holds them in the order of their happening.
//
// A new kind: its fields here, its form in the trace in a write_… of record_writers.h, its case in
// Assembler::add. What is the same in many events is an interned text; the rest are numbers.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"

namespace redline::profiler {

/// An interned text (text_table.h).
struct TextId {
  uint32_t value = UINT32_MAX;
  constexpr explicit operator bool() const { return value != UINT32_MAX; }
};

enum class RecordKind : uint8_t {
  kOperator,     ///< OperatorFields
  kAnnotation,   ///< OperatorFields
  kStep,         ///< OperatorFields; function_id is the n of its name, "ProfilerStep#n"
  kSlice,        ///< SliceFields
  kMark,         ///< SliceFields without end_ns
  kMemory,       ///< MemoryFields
  kOutOfMemory,  ///< MemoryFields without address: what was asked for in vain
  kCounter,      ///< CounterFields
  kFrame,        ///< FrameFields
  kNvtx,         ///< NvtxFields
  kNccl,         ///< NcclFields
  kStack,        ///< OperatorFields: args is the C++ stack of the operator that follows
  kKernel,       ///< CudaFields, as all that follow
  kCopy,
  kMemset,
  kSynchronization,
  kGpuAnnotation,
  kGpuOverhead,
  kCudaCall,
  kLaunchArrow,  ///< from a call to its work
  kGpuMemory,    ///< an instant: memory is allocated or released
  kMigration,    ///< of unified memory; amount is its bytes, or 0
  kStreamName,   ///< of the lane, in the whole window
};

/// How an operator stands to autograd.
enum class Autograd : uint8_t {
  kNone,
  kForward,   ///< autograd_thread is the thread it ran on, in LibTorch's numbering
  kBackward,  ///< autograd_thread is the thread of its forward operator
};

struct OperatorFields {
  int64_t end_ns = 0;            ///< monotonic_ns()
  int64_t sequence_number = -1;  ///< of autograd; below 0: none
  uint64_t function_id = 0;      ///< LibTorch's RecordFunction handle
  TextId args = {};              ///< more members of "args"
  uint32_t autograd_thread = 0;
};

/// A slice or mark of any other category, such as "nvtx".
struct SliceFields {
  int64_t end_ns = 0;
  TextId category = {};  ///< of intern_name()
  TextId args = {};      ///< all members of "args"
};

struct MemoryFields {
  uint64_t address = 0;
  int64_t bytes = 0;  ///< below 0: given back
  uint64_t total_allocated = 0;
  uint64_t total_reserved = 0;
};

/// One value of the series `series` (of intern_name(); none: "value") of the counter track `name`.
struct CounterFields {
  double value = 0;
  TextId series = {};
};

/// A call of a Python function.
struct FrameFields {
  int64_t end_ns = 0;
  uint64_t id = 0;               ///< from 1
  uint64_t parent = 0;           ///< 0: none
  uint32_t module = UINT32_MAX;  ///< of a torch.nn.Module: its number within its class
  uint32_t tid = 0;              ///< who records it may be another thread; 0: the same
};

enum class NvtxPhase : uint8_t { kSlice, kMark, kStart, kEnd };
enum class PayloadForm : uint8_t { kNone, kUnsigned, kSigned, kDouble };

struct NvtxFields {
  int64_t end_ns = 0;  ///< kSlice
  uint64_t range = 0;  ///< kStart, kEnd: which one
  union {
    uint64_t number = 0;
    int64_t signed_number;
    double real;
  } payload;
  TextId args = {};  ///< members of "args" but the payload
  NvtxPhase phase = NvtxPhase::kSlice;
  PayloadForm payload_form = PayloadForm::kNone;
};

/// An event of NCCL's; Record::device_type is the place of its type's bit, device_index 1 where it
/// had not ended when the window did.
struct NcclFields {
  int64_t end_ns = 0;
  uint64_t number = 0;  ///< a collective's sequence; bytes of a transfer
  uint32_t id = 0;
  uint32_t parent = 0;  ///< 0: none
  TextId args = {};
  uint32_t step = 0;  ///< of a transfer; "External id" of the operator that called NCCL; 0: none
};

/// The row of a GPU for what belongs to none of its streams.
inline constexpr uint32_t kDeviceLane = 1'000'000;

/// Work of the GPU Record::device_index, or a call of CUDA.
struct CudaFields {
  int64_t end_ns = 0;   ///< of an arrow: where its work begins
  uint64_t amount = 0;  ///< bytes; a kernel's graph node; a call's number; an arrow's stream
  uint32_t correlation = 0;
  uint32_t lane = 0;      ///< stream; thread of a call, and of an arrow's
  uint32_t external = 0;  ///< "External id"; 0: none
  TextId args = {};
};

/// Which one holds: Record::kind.
union RecordFields {
  constexpr RecordFields() : op() {}
  constexpr RecordFields(const OperatorFields& fields) : op(fields) {}
  constexpr RecordFields(const SliceFields& fields) : slice(fields) {}
  constexpr RecordFields(const MemoryFields& fields) : memory(fields) {}
  constexpr RecordFields(const CounterFields& fields) : counter(fields) {}
  constexpr RecordFields(const FrameFields& fields) : frame(fields) {}
  constexpr RecordFields(const NvtxFields& fields) : nvtx(fields) {}
  constexpr RecordFields(const CudaFields& fields) : cuda(fields) {}
  constexpr RecordFields(const NcclFields& fields) : nccl(fields) {}

  OperatorFields op;
  SliceFields slice;
  MemoryFields memory;
  CounterFields counter;
  FrameFields frame;
  NvtxFields nvtx;
  CudaFields cuda;
  NcclFields nccl;
};

struct Record {
  int64_t begin_ns = 0;  ///< monotonic_ns()
  RecordFields of = {};
  TextId name = {};
  RecordKind kind = RecordKind::kOperator;
  Autograd autograd = Autograd::kNone;  ///< kOperator
  int8_t device_type = 0;               ///< of memory: c10::DeviceType; of a call: 1 is a driver's
  int8_t device_index = -1;             ///< of memory and GPU work
};
static_assert(sizeof(Record) == 48);

/// When it was submitted, as far as the record tells.
inline int64_t end_ns(const Record& record) {
  switch (record.kind) {
    case RecordKind::kOperator:
    case RecordKind::kAnnotation:
    case RecordKind::kStep:
      return record.of.op.end_ns;
    case RecordKind::kSlice:
      return record.of.slice.end_ns;
    case RecordKind::kFrame:
      return record.of.frame.end_ns;
    case RecordKind::kNvtx:
      return std::max(record.begin_ns, record.of.nvtx.end_ns);
    case RecordKind::kNccl:
      return record.of.nccl.end_ns;
    default:
      return record.kind >= RecordKind::kKernel ? record.of.cuda.end_ns : record.begin_ns;
  }
}

/// Counters are of the process, and GPU work of its stream.
inline bool is_of_thread(const Record& record) {
  return record.kind == RecordKind::kCudaCall ||
         (record.kind < RecordKind::kKernel && record.kind != RecordKind::kCounter);
}

/// The thread whose event it is, which may be another than `recorder`, who recorded it.
inline uint64_t thread_of(const Record& record, uint64_t recorder) {
  if (record.kind == RecordKind::kCudaCall) return record.of.cuda.lane;
  const bool is_other = record.kind == RecordKind::kFrame && record.of.frame.tid != 0;
  return is_other ? record.of.frame.tid : recorder;
}

}  // namespace redline::profiler
