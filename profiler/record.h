// One recorded operator or range, as it waits for the writer thread: 48 bytes without pointers.
#pragma once

#include <time.h>

#include <cstdint>

namespace redline::profiler {

/// An interned text (text_table.h).
struct TextId {
  uint32_t value = UINT32_MAX;
  constexpr explicit operator bool() const { return value != UINT32_MAX; }
};

enum class RecordKind : uint8_t { kOperator, kAnnotation };

/// How an operator stands to autograd.
enum class Autograd : uint8_t {
  kNone,
  kForward,   ///< autograd_thread is the thread it ran on, in LibTorch's numbering
  kBackward,  ///< autograd_thread is the thread of its forward operator
};

struct Record {
  int64_t begin_ns = 0;          ///< monotonic_ns()
  int64_t end_ns = 0;            ///< monotonic_ns()
  int64_t sequence_number = -1;  ///< of autograd; below 0: none
  uint64_t function_id = 0;      ///< LibTorch's RecordFunction handle
  TextId name = {};
  TextId args = {};  ///< more members of "args"
  uint32_t autograd_thread = 0;
  RecordKind kind = RecordKind::kOperator;
  Autograd autograd = Autograd::kNone;
};
static_assert(sizeof(Record) == 48);

/// The recorder's clock. Unlike the time-stamp counter it needs no calibration and survives a
/// suspended machine; 25 to 30 ns a reading.
inline int64_t monotonic_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

}  // namespace redline::profiler
