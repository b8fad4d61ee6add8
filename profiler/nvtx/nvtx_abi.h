// The binary interface between NVTX, which is compiled into each program and library that uses it,
// and the one tool of the process (NVTX 3, version 2 of its event attributes; frozen by NVIDIA).
//
// It is declared here rather than taken from NVTX's headers, which come with CUDA: a recorder needs
// only this part, and it builds on machines without CUDA.
#pragma once

#include <cstddef>
#include <cstdint>

namespace redline::nvtx {

using Function = void (*)();

struct CallbackTable {
  size_t struct_size;
  /// Gives an array of `size` places for the functions of a module, by number. Some places are
  /// null.
  int (*get_module_functions)(int32_t module, Function*** table, unsigned* size);
};
inline constexpr uint32_t kCallbackTable = 1;

/// NVTX hands such a function to a tool's InitializeInjectionNvtx2. It gives the table of a number.
using GetExportTable = const void* (*)(uint32_t table);
using Initialize = int (*)(GetExportTable);

enum Module : int32_t { kCore = 1, kCuda = 2, kCudaRuntime = 4, kDomains = 5 };

enum CoreFunction : unsigned {
  kMarkEx = 1,
  kMarkA,
  kMarkW,
  kRangeStartEx,
  kRangeStartA,
  kRangeStartW,
  kRangeEnd,
  kRangePushEx,
  kRangePushA,
  kRangePushW,
  kRangePop,
  kNameCategoryA,
  kNameCategoryW,
  kCoreSize = 16,
};

enum DomainFunction : unsigned {
  kDomainMarkEx = 1,
  kDomainRangeStartEx,
  kDomainRangeEnd,
  kDomainRangePushEx,
  kDomainRangePop,
  kDomainNameCategoryA = 8,
  kDomainNameCategoryW,
  kDomainRegisterStringA,
  kDomainRegisterStringW,
  kDomainCreateA,
  kDomainCreateW,
};

enum CudaFunction : unsigned { kNameCuStreamA = 5, kNameCuStreamW };
enum CudaRuntimeFunction : unsigned { kNameCudaStreamA = 3, kNameCudaStreamW };

enum MessageType : int32_t { kNoMessage, kAscii, kUnicode, kRegistered };
enum PayloadType : int32_t { kNoPayload, kUint64, kInt64, kDouble, kUint32, kInt32, kFloat };

/// nvtxEventAttributes_t. `size` says how much of it the caller has set.
struct EventAttributes {
  uint16_t version;
  uint16_t size;
  uint32_t category;
  int32_t color_type;
  uint32_t color;
  int32_t payload_type;
  int32_t reserved;
  union {
    uint64_t uint64;
    int64_t int64;
    double float64;
    uint32_t uint32;
    int32_t int32;
    float float32;
  } payload;
  int32_t message_type;
  union {
    const char* ascii;
    const wchar_t* unicode;
    const void* registered;
  } message;
};
static_assert(sizeof(EventAttributes) == 48 && offsetof(EventAttributes, message) == 40);

}  // namespace redline::nvtx

/// Each copy of NVTX in the process calls this at its first use, if NVTX_INJECTION64_PATH names
/// this library or the program has linked it (nvtx_static.h). Gives 1.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    redline::nvtx::GetExportTable get_export_table);
