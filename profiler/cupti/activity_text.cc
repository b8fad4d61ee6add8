#include "profiler/cupti/activity_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <string_view>

#include "base/demangle.h"
#include "profiler/log/text_table.h"

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

// Functions that programs call all the time, that start no work, and that take less time than CUPTI
// needs to record them: in a ResNet-50 on an H100 one call in seven. Kineto leaves out some of
// them.
constexpr std::string_view kNoise[] = {"cudaGetDevice",
                                       "cudaSetDevice",
                                       "cudaGetLastError",
                                       "cudaPeekAtLastError",
                                       "cudaGetErrorName",
                                       "cudaGetErrorString",
                                       "cudaDeviceGetAttribute",
                                       "cudaPointerGetAttributes",
                                       "cudaGetFuncBySymbol",
                                       "cudaStreamIsCapturing",
                                       "cudaStreamGetCaptureInfo",
                                       "cudaEventCreate",
                                       "cudaEventCreateWithFlags",
                                       "cudaEventDestroy"};

// Functions of the driver that programs call all the time and that start no work on a GPU.
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

/// Kineto prints a ratio with six decimals. Ours has a decimal point in every locale.
std::string six_decimals(float value) {
  char text[64];
  const auto end =
      std::to_chars(std::begin(text), std::end(text), value, std::chars_format::fixed, 6);
  return {text, end.ptr};
}

std::string lane_members(uint32_t device, uint32_t context, uint32_t stream) {
  return "\"device\": " + std::to_string(device) + ", \"context\": " + std::to_string(context) +
         ", \"stream\": " + std::to_string(stream);
}

std::string graph_members(uint32_t graph, uint64_t node) {
  if (node == 0) return "";
  return ", \"graph id\": " + std::to_string(graph) +
         ", \"graph node id\": " + std::to_string(node);
}

std::string triple(const char* name, const int32_t (&sizes)[3]) {
  return std::string(", \"") + name + "\": [" + std::to_string(sizes[0]) + ", " +
         std::to_string(sizes[1]) + ", " + std::to_string(sizes[2]) + "]";
}

std::string occupancy_members(const Occupancy& occupancy) {
  return ", \"est. achieved occupancy %\": " + std::to_string(occupancy.percent) +
         ", \"occupancy\": {\"activeBlocksPerMultiprocessor\": " +
         std::to_string(occupancy.active_blocks) + ", \"limitingFactors\": \"" +
         occupancy.limited_by + "\"}";
}

template <typename Transfer>
std::string transfer_members(const Transfer& transfer) {
  return lane_members(transfer.device, transfer.context, transfer.stream) +
         graph_members(transfer.graph, transfer.graph_node);
}

}  // namespace

std::string kernel_name(const char* symbol) {
  if (symbol == nullptr) return "(unnamed)";
  const std::string_view name = symbol;
  if (name == "kernel") return "Kernel";
  // Other names must not be demangled: a kernel called "f" would become "float".
  return name.starts_with("_Z") ? demangled(symbol) : symbol;
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

std::string args_of(const KernelRecord& kernel, const DeviceProperties* device) {
  const int64_t shared = int64_t{kernel.static_shared_memory} + kernel.dynamic_shared_memory;
  std::string members =
      "\"queued\": 0, " + lane_members(kernel.device, kernel.context, kernel.stream) +
      ", \"registers per thread\": " + std::to_string(kernel.registers_per_thread) +
      ", \"shared memory\": " + std::to_string(shared);
  Launch launch{.registers_per_thread = kernel.registers_per_thread, .shared_memory = shared};
  std::copy(std::begin(kernel.grid), std::end(kernel.grid), launch.grid);
  std::copy(std::begin(kernel.block), std::end(kernel.block), launch.block);
  const Occupancy occupancy = device == nullptr ? Occupancy{} : estimate_occupancy(*device, launch);
  const bool is_known = device != nullptr && occupancy.active_blocks > 0;
  if (is_known) {
    members += ", \"blocks per SM\": " + six_decimals(occupancy.blocks_per_sm) +
               ", \"warps per SM\": " + six_decimals(occupancy.warps_per_sm);
  }
  members += triple("grid", kernel.grid) + triple("block", kernel.block);
  if (is_known) members += occupancy_members(occupancy);
  if (kernel.graph_node != 0) members += ", \"graph id\": " + std::to_string(kernel.graph);
  if (kernel.cluster[0] > 0) members += triple("cluster", kernel.cluster);
  if (kernel.priority != kNoPriority)
    members += ", \"priority\": " + std::to_string(kernel.priority);
  return members;
}

uint64_t args_key(const KernelRecord& kernel) {
  const uint64_t parts[] = {
      uint64_t{kernel.device} << 32 | kernel.context,
      uint64_t{kernel.stream} << 32 | kernel.registers_per_thread,
      uint64_t(uint32_t(kernel.grid[0])) << 32 | uint32_t(kernel.grid[1]),
      uint64_t(uint32_t(kernel.grid[2])) << 32 | uint32_t(kernel.block[0]),
      uint64_t(uint32_t(kernel.block[1])) << 32 | uint32_t(kernel.block[2]),
      uint64_t(uint32_t(kernel.static_shared_memory)) << 32 |
          uint32_t(kernel.dynamic_shared_memory),
      kernel.graph_node != 0 ? uint64_t{1} << 32 | kernel.graph : 0,
      uint64_t(uint32_t(kernel.cluster[0])) << 32 | uint32_t(kernel.cluster[1]),
      uint64_t(uint32_t(kernel.cluster[2])) << 32 | uint32_t(kernel.priority)};
  const std::string_view bytes(reinterpret_cast<const char*>(parts), sizeof(parts));
  return profiler::hash_text(bytes, profiler::TextForm::kJson) | 1;
}

std::string args_of(const MemcpyRecord& copy) { return transfer_members(copy); }

std::string args_of(const MemsetRecord& set) { return transfer_members(set); }

std::string args_of(const PeerCopyRecord& copy) {
  return "\"fromDevice\": " + std::to_string(copy.source_device) +
         ", \"inDevice\": " + std::to_string(copy.device) +
         ", \"toDevice\": " + std::to_string(copy.destination_device) +
         ", \"fromContext\": " + std::to_string(copy.source_context) +
         ", \"inContext\": " + std::to_string(copy.context) +
         ", \"toContext\": " + std::to_string(copy.destination_context) +
         ", \"stream\": " + std::to_string(copy.stream) +
         graph_members(copy.graph, copy.graph_node);
}

std::string args_of(const SynchronizationRecord& sync, uint32_t device,
                    const RecordedEvent* event) {
  std::string members =
      "\"cuda_sync_kind\": \"" + std::string(synchronization_name(sync.type)) + "\"";
  if (event != nullptr) {
    members += ", \"wait_on_stream\": " + std::to_string(event->stream) +
               ", \"wait_on_cuda_event_record_corr_id\": " + std::to_string(event->correlation) +
               ", \"wait_on_cuda_event_id\": " + std::to_string(sync.event);
  }
  return members + ", \"stream\": " + std::to_string(static_cast<int32_t>(sync.stream)) +
         ", \"device\": " + std::to_string(device) +
         ", \"context\": " + std::to_string(sync.context);
}

// The members are the same as in torch's own events of memory.
std::string args_of(const MemoryRecord& memory) {
  const bool is_release = memory.operation == kRelease;
  return lane_members(memory.device, memory.context, memory.stream) +
         ", \"Addr\": " + std::to_string(memory.address) +
         ", \"Bytes\": " + (is_release ? "-" : "") + std::to_string(memory.bytes) +
         (memory.is_async != 0 ? ", \"async\": true" : "");
}

std::string args_of(const MemoryPoolRecord& pool) {
  return "\"device\": " + std::to_string(pool.device) +
         ", \"stream\": -1, \"Addr\": " + std::to_string(pool.address) +
         ", \"release threshold\": " + std::to_string(pool.release_threshold);
}

std::string args_of(const UnifiedMemoryRecord& migration) {
  const bool is_fault =
      migration.counter == kUnifiedCpuFaults || migration.counter == kUnifiedGpuFaults;
  return "\"stream\": -1, \"Addr\": " + std::to_string(migration.address) +
         (is_fault ? ", \"faults\": " + std::to_string(migration.value) : "");
}

}  // namespace redline::cupti
