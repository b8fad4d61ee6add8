// A record: one event, from the moment it ends until the writer thread writes it.
//
// A record is made on a training thread, so it must cost one copy of a few words: 48 bytes, without
// pointers and without a destructor. All kinds have the same size and share one chunk, so that a
// thread's records stay in the order of their ends; a log for each kind would have to be merged by
// time. Texts are interned (text_table.h), since most are the same in many events; a record holds
// their ids.
//
//   begin_ns      8 bytes
//   of           32 bytes   fields of the kind, as a union
//   name          4 bytes
//   kind, autograd, device_type, device_index   1 byte each
//
// std::variant would store the kind a second time and grow the record to 56 bytes.
//
// To add a kind: define its fields here, write it to the trace in a function of profiler/write/
// (record_writers.cc and its neighbours), and call that in Assembler::add().
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
  kOutOfMemory,  ///< MemoryFields without address: an allocation that failed
  kCounter,      ///< CounterFields
  kFrame,        ///< FrameFields
  kNvtx,         ///< NvtxFields
  kNccl,         ///< NcclFields
  kStack,        ///< OperatorFields: args is the C++ stack of the operator that follows
  kKernel,       ///< CudaFields, like all kinds from here on
  kCopy,
  kMemset,
  kSynchronization,
  kGpuAnnotation,
  kGpuOverhead,
  kCudaCall,
  kLaunchArrow,  ///< from a call to its work
  kGpuMemory,    ///< an instant: memory is allocated or released
  kMigration,    ///< unified memory migrates; amount is its bytes, or 0
  kStreamName,   ///< the name of a lane in the whole window
};

/// Which part an operator has in a backward pass.
enum class Autograd : uint8_t {
  kNone,
  kForward,   ///< autograd_thread is the thread it ran on, in LibTorch's numbering
  kBackward,  ///< autograd_thread is the thread of its forward operator
};

struct OperatorFields {
  int64_t end_ns = 0;            ///< monotonic_ns()
  int64_t sequence_number = -1;  ///< autograd's number of the pair forward and backward; < 0: none
  uint64_t function_id = 0;      ///< LibTorch's RecordFunction handle
  TextId args = {};              ///< further members of "args"
  uint32_t autograd_thread = 0;
};

/// A slice or mark of any other category, such as "nvtx".
struct SliceFields {
  int64_t end_ns = 0;
  TextId category = {};  ///< from intern_name()
  TextId args = {};      ///< all members of "args"
};

struct MemoryFields {
  uint64_t address = 0;
  int64_t bytes = 0;  ///< below 0 for a release
  uint64_t total_allocated = 0;
  uint64_t total_reserved = 0;
};

/// One value of a series of the counter track Record::name. `series` is from intern_name(); without
/// it the series is called "value".
struct CounterFields {
  double value = 0;
  TextId series = {};
};

/// A call of a Python function.
struct FrameFields {
  int64_t end_ns = 0;
  uint64_t id = 0;      ///< ids begin at 1
  uint64_t parent = 0;  ///< 0: none
  TextId args = {};     ///< further members of "args"
  uint32_t tid = 0;     ///< the thread of the call; 0: the thread that records it
};

enum class NvtxPhase : uint8_t { kSlice, kMark, kStart, kEnd };
enum class PayloadForm : uint8_t { kNone, kUnsigned, kSigned, kDouble };

struct NvtxFields {
  int64_t end_ns = 0;  ///< only of kSlice
  uint64_t range = 0;  ///< the number of the range of a kStart or kEnd
  union {
    uint64_t number = 0;
    int64_t signed_number;
    double real;
  } payload;
  TextId args = {};  ///< members of "args", without the payload
  NvtxPhase phase = NvtxPhase::kSlice;
  PayloadForm payload_form = PayloadForm::kNone;
};

/// An event that NCCL's profiler plugin reported. Record::device_type holds log2 of its EventType,
/// and Record::device_index is 1 if the event was still running at the window's end.
struct NcclFields {
  int64_t end_ns = 0;
  uint64_t number = 0;  ///< sequence number of a collective; bytes of a transfer
  uint32_t id = 0;
  uint32_t parent = 0;  ///< 0: none
  TextId args = {};
  uint32_t step = 0;  ///< of a transfer; otherwise "External id" of the calling operator, or 0
};

/// CudaFields::lane of GPU work that belongs to no stream.
inline constexpr uint32_t kDeviceLane = 1'000'000;

/// Work of the GPU with the number Record::device_index, or a call of the CUDA API.
struct CudaFields {
  int64_t end_ns = 0;   ///< for a kLaunchArrow, when the launched work begins
  uint64_t amount = 0;  ///< bytes; or a kernel's graph node, a call's number, an arrow's stream
  uint32_t correlation = 0;
  uint32_t lane = 0;      ///< stream of GPU work; thread of a call or of an arrow's call
  uint32_t external = 0;  ///< "External id"; 0: none
  TextId args = {};
};

/// Record::kind says which member is set.
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
  Autograd autograd = Autograd::kNone;  ///< only of kOperator
  int8_t device_type = 0;    ///< of memory: c10::DeviceType; of a CUDA call: 1 for the driver's API
  int8_t device_index = -1;  ///< of memory and GPU work
};
static_assert(sizeof(Record) == 48);

/// When the event ended, and so about when its record was submitted. For a kind without an end:
/// begin_ns.
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

/// False for counters, which belong to the process, and GPU work, which belongs to its stream.
inline bool is_of_thread(const Record& record) {
  return record.kind == RecordKind::kCudaCall ||
         (record.kind < RecordKind::kKernel && record.kind != RecordKind::kCounter);
}

/// The thread that the event belongs to. It may differ from `recorder`, the thread that recorded
/// it.
inline uint64_t thread_of(const Record& record, uint64_t recorder) {
  if (record.kind == RecordKind::kCudaCall) return record.of.cuda.lane;
  const bool is_other = record.kind == RecordKind::kFrame && record.of.frame.tid != 0;
  return is_other ? record.of.frame.tid : recorder;
}

}  // namespace redline::profiler
