#include "profiler/cupti/activity_names.h"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <memory>

namespace redline::cupti {
namespace {

template <size_t N>
std::string_view at(const std::array<std::string_view, N>& names, size_t number) {
  return number < N ? names[number] : "<unknown>";
}

constexpr std::array<std::string_view, 11> kCopyKinds = {
    "<unknown>", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};
constexpr std::array<std::string_view, 8> kMemoryKinds = {
    "Unknown", "Pageable", "Pinned",        "Device",
    "Array",   "Managed",  "Device Static", "Managed Static"};
constexpr std::array<std::string_view, 5> kSynchronizations = {
    "<unknown>", "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync"};
constexpr std::array<std::string_view, 3> kMemoryOperations = {"<unknown>", "Allocation",
                                                               "Release"};
constexpr std::array<std::string_view, 4> kPoolOperations = {
    "<unknown>", "Memory Pool Created", "Memory Pool Destroyed", "Memory Pool Trimmed"};
constexpr std::array<std::string_view, 5> kUnifiedMemory = {
    "<unknown>", "Unified Memory HtoD", "Unified Memory DtoH", "Unified Memory CPU Page Faults",
    "Unified Memory GPU Page Faults"};

// Those that Kineto leaves out.
constexpr std::string_view kNoise[] = {"cudaGetDevice",
                                       "cudaSetDevice",
                                       "cudaGetLastError",
                                       "cudaEventCreate",
                                       "cudaEventCreateWithFlags",
                                       "cudaEventDestroy"};

// Of the driver: asked all the time, and of no work on a GPU.
constexpr std::string_view kDriverNoise[] = {"cuCtxGet",
                                             "cuCtxPopCurrent",
                                             "cuCtxPushCurrent",
                                             "cuCtxSetCurrent",
                                             "cuDeviceGet",
                                             "cuDevicePrimaryCtxGetState",
                                             "cuDriverGetVersion",
                                             "cuFuncGet",
                                             "cuGetErr",
                                             "cuGetProcAddress",
                                             "cuKernelGet",
                                             "cuLibraryGet",
                                             "cuModuleGet",
                                             "cuOccupancy",
                                             "cuPointerGetAttribute",
                                             "cuStreamGet",
                                             "cuStreamIsCapturing",
                                             "cuTensorMapEncode",
                                             "cuThreadExchangeStreamCaptureMode"};

}  // namespace

std::string kernel_name(const char* symbol) {
  if (symbol == nullptr) return "(unnamed)";
  const std::string_view name = symbol;
  if (name == "kernel") return "Kernel";
  // "f" would be demangled, too: it is the type float.
  if (!name.starts_with("_Z")) return symbol;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> readable(
      abi::__cxa_demangle(symbol, nullptr, nullptr, &status), std::free);
  return readable ? readable.get() : symbol;
}

std::string copy_name(uint8_t copy_kind, uint8_t source, uint8_t destination) {
  std::string name = "Memcpy ";
  name += at(kCopyKinds, copy_kind);
  name += " (";
  name += at(kMemoryKinds, source);
  name += " -> ";
  name += at(kMemoryKinds, destination);
  return name + ")";
}

std::string memset_name(uint16_t memory_kind) {
  return "Memset (" + std::string(at(kMemoryKinds, memory_kind)) + ")";
}

std::string memory_operation_name(uint32_t operation, uint32_t memory_kind) {
  return std::string(at(kMemoryOperations, operation)) + " (" +
         std::string(at(kMemoryKinds, memory_kind)) + ")";
}

std::string_view pool_operation_name(uint32_t operation) { return at(kPoolOperations, operation); }

std::string_view unified_memory_name(uint32_t counter) { return at(kUnifiedMemory, counter); }

std::string_view synchronization_name(uint32_t type) { return at(kSynchronizations, type); }

std::string_view overhead_name(uint32_t kind) {
  switch (kind) {
    case 1:
      return "Driver Compiler";
    case 1 << 16:
      return "Buffer Flush";
    case 2 << 16:
      return "Instrumentation";
    case 3 << 16:
      return "Resource";
    case 4 << 16:
      return "Runtime Triggered Module Loading";
    case 5 << 16:
      return "Lazy Function Loading";
    case 6 << 16:
      return "Command Buffer Full";
    case 7 << 16:
      return "Activity Buffer Request";
    case 8 << 16:
      return "UVM Activity Init";
    default:
      return "Unknown";
  }
}

std::string_view runtime_function_name(std::string_view name) {
  const size_t version = name.rfind("_v");
  if (version == std::string_view::npos || version + 2 == name.size()) return name;
  const std::string_view digits = name.substr(version + 2);
  return digits.find_first_not_of("0123456789") == std::string_view::npos ? name.substr(0, version)
                                                                          : name;
}

bool is_noise(std::string_view runtime_function) {
  return std::ranges::find(kNoise, runtime_function) != std::end(kNoise);
}

bool is_driver_noise(std::string_view driver_function) {
  return std::ranges::any_of(kDriverNoise, [driver_function](std::string_view begin) {
    return driver_function.starts_with(begin);
  });
}

bool is_shown_driver_function(std::string_view name) {
  return name.starts_with("cuLaunchKernel") || name.starts_with("cuLaunchCooperativeKernel") ||
         name.starts_with("cuGraphLaunch") || name.starts_with("cuMemCreate") ||
         name.starts_with("cuMemMap") || name.starts_with("cuMemUnmap") ||
         name.starts_with("cuMemRelease") || name.starts_with("cuMemExport") ||
         name.starts_with("cuMemImport");
}

}  // namespace redline::cupti
