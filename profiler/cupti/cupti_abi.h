// The part of CUPTI's ABI that the recorder uses, declared anew: constants, callbacks and records.
//
// NVIDIA's headers are not included, for two reasons. The recorder must build without CUDA; and one
// binary must work with each CUPTI from 11.8 on, while a header describes the records of its own
// version only.
//
// One set of structs is enough because NVIDIA only appends fields to its records: for example,
// CUpti_ActivityKernel8 (11.8) to CUpti_ActivityKernel13 (13.5) begin with the same fields. Each
// struct here is the beginning that all supported versions have. The one exception is a kernel's
// priority, which exists from 13.1 on and is read only there (decoder.h). Where the next record
// begins is not computed from a size: CUPTI's own cuptiActivityGetNextRecord tells it.
//
// Names are ours, types and order of the fields are NVIDIA's. cupti_abi_test.cc compares offsets
// and constants with NVIDIA's headers where those are installed. Times are nanoseconds of CUPTI's
// clock (cupti_clock.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace redline::cupti {

// CUptiResult
using Result = int;
constexpr Result kSuccess = 0;
constexpr Result kMaxLimitReached = 12;
constexpr Result kNotCompatible = 14;  ///< another user makes calls that exclude ours
constexpr Result kNotInitialized = 15;
constexpr Result kInsufficientPrivileges = 35;
constexpr Result kMultipleSubscribers = 39;
constexpr Result kVirtualizedInsufficientPrivileges = 40;
constexpr Result kConfidentialComputing = 41;
constexpr Result kMigNotSupported = 43;
constexpr Result kWslNotSupported = 45;
constexpr Result kUnknown = 999;  ///< CUPTI 13 gives this if the driver does not start

// cuptiGetVersion() of CUDA 11.8, 12.9 and 13.1.
constexpr uint32_t kVersion11_8 = 18;
constexpr uint32_t kVersion12_6 = 24;
constexpr uint32_t kVersion12_9 = 27;
constexpr uint32_t kVersion13_1 = 130100;

// CUpti_ActivityKind
enum class Kind : uint32_t {
  kMemcpy = 1,
  kMemset = 2,
  kKernel = 3,
  kDriver = 4,
  kRuntime = 5,
  kContext = 9,
  kConcurrentKernel = 10,
  kOverhead = 17,
  kEnvironment = 20,
  kPeerCopy = 22,
  kUnifiedMemory = 25,
  kCudaEvent = 36,
  kStream = 37,
  kSynchronization = 38,
  kExternalCorrelation = 39,
  kMemory = 49,
  kMemoryPool = 50,
};

// CUpti_ExternalCorrelationKind. Kineto uses the same two kinds.
constexpr uint32_t kOperatorIds = 3;    ///< CUSTOM0
constexpr uint32_t kAnnotationIds = 4;  ///< CUSTOM1

// CUpti_CallbackDomain
constexpr int kDriverDomain = 1;
constexpr int kRuntimeDomain = 2;

constexpr int kSystemThreadIds = 1;         ///< CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM
constexpr uint32_t kFlushForced = 1;        ///< CUPTI_ACTIVITY_FLAG_FLUSH_FORCED
constexpr int kStampBuffers = 2;            ///< CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT
constexpr int kZeroedBuffers = 5;           ///< CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER
constexpr int kBuffersByThread = 9;         ///< CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER
constexpr uint32_t kNoStream = 0xFFFFFFFF;  ///< CUPTI_SYNCHRONIZATION_INVALID_VALUE

using BufferRequested = void (*)(uint8_t** buffer, size_t* size, size_t* most_records);
using BufferCompleted = void (*)(void* context, uint32_t stream, uint8_t* buffer, size_t size,
                                 size_t valid_size);
using Callback = void (*)(void* user_data, int domain, uint32_t function, const void* data);
using SubscriberHandle = void*;
using NextRecord = Result (*)(uint8_t* buffer, size_t valid_size, uint8_t** record);

/// CUpti_SubscriberParams, which CUPTI has from 13.0 on.
struct SubscriberParams {
  size_t size = sizeof(SubscriberParams);
  const char* name = nullptr;
  char* other = nullptr;  ///< gets the other tool's name if one has subscribed
  size_t other_size = 0;
};

constexpr int32_t kNoPriority = std::numeric_limits<int32_t>::min();  ///< CUPTI before 13.1

struct KernelRecord {
  Kind kind = {};
  uint8_t cache_config = 0;
  uint8_t shared_memory_config = 0;
  uint16_t registers_per_thread = 0;
  uint32_t partitioned_cache_requested = 0;
  uint32_t partitioned_cache_executed = 0;
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t completed = 0;
  uint32_t device = 0;
  uint32_t context = 0;
  uint32_t stream = 0;
  int32_t grid[3] = {};
  int32_t block[3] = {};
  int32_t static_shared_memory = 0;
  int32_t dynamic_shared_memory = 0;
  uint32_t local_memory_per_thread = 0;
  uint32_t local_memory_total = 0;
  uint32_t correlation = 0;
  int64_t grid_id = 0;
  const char* name = nullptr;
  void* reserved = nullptr;
  uint64_t queued = 0;
  uint64_t submitted = 0;
  uint8_t launch_type = 0;
  uint8_t is_carveout_requested = 0;
  uint8_t carveout_requested = 0;
  uint8_t padding = 0;
  uint32_t shared_memory_executed = 0;
  uint64_t graph_node = 0;
  uint32_t shared_memory_limit = 0;
  uint32_t graph = 0;
  void* access_policy = nullptr;
  uint32_t channel = 0;
  uint32_t channel_type = 0;
  int32_t cluster[3] = {};  ///< in blocks; 0 if the kernel is not launched in clusters
  uint32_t cluster_scheduling = 0;
  uint64_t local_memory_total_of_64_bits = 0;
  uint64_t of_later_versions[2] = {};
  int32_t priority = kNoPriority;
  uint32_t more_padding = 0;
};

struct MemcpyRecord {
  Kind kind = {};
  uint8_t copy_kind = 0;
  uint8_t source_kind = 0;
  uint8_t destination_kind = 0;
  uint8_t flags = 0;
  uint64_t bytes = 0;
  uint64_t start = 0;
  uint64_t end = 0;
  uint32_t device = 0;
  uint32_t context = 0;
  uint32_t stream = 0;
  uint32_t correlation = 0;
  uint32_t runtime_correlation = 0;
  uint32_t padding = 0;
  void* reserved = nullptr;
  uint64_t graph_node = 0;
  uint32_t graph = 0;
  uint32_t channel = 0;
};

struct PeerCopyRecord {
  Kind kind = {};
  uint8_t copy_kind = 0;
  uint8_t source_kind = 0;
  uint8_t destination_kind = 0;
  uint8_t flags = 0;
  uint64_t bytes = 0;
  uint64_t start = 0;
  uint64_t end = 0;
  uint32_t device = 0;
  uint32_t context = 0;
  uint32_t stream = 0;
  uint32_t source_device = 0;
  uint32_t source_context = 0;
  uint32_t destination_device = 0;
  uint32_t destination_context = 0;
  uint32_t correlation = 0;
  void* reserved = nullptr;
  uint64_t graph_node = 0;
  uint32_t graph = 0;
  uint32_t channel = 0;
};

struct MemsetRecord {
  Kind kind = {};
  uint32_t value = 0;
  uint64_t bytes = 0;
  uint64_t start = 0;
  uint64_t end = 0;
  uint32_t device = 0;
  uint32_t context = 0;
  uint32_t stream = 0;
  uint32_t correlation = 0;
  uint16_t flags = 0;
  uint16_t memory_kind = 0;
  uint32_t padding = 0;
  void* reserved = nullptr;
  uint64_t graph_node = 0;
  uint32_t graph = 0;
  uint32_t channel = 0;
};

/// A call of the runtime API or of the driver API.
struct ApiRecord {
  Kind kind = {};
  uint32_t function = 0;  ///< cbid
  uint64_t start = 0;
  uint64_t end = 0;
  uint32_t process = 0;
  uint32_t thread = 0;
  uint32_t correlation = 0;
  uint32_t result = 0;
};

struct ExternalCorrelationRecord {
  Kind kind = {};
  uint32_t external_kind = 0;
  uint64_t external = 0;
  uint32_t correlation = 0;
  uint32_t reserved = 0;
};

struct SynchronizationRecord {
  Kind kind = {};
  uint32_t type = 0;
  uint64_t start = 0;
  uint64_t end = 0;
  uint32_t correlation = 0;
  uint32_t context = 0;
  uint32_t stream = 0;
  uint32_t event = 0;
};

struct CudaEventRecord {
  Kind kind = {};
  uint32_t correlation = 0;
  uint32_t context = 0;
  uint32_t stream = 0;
  uint32_t event = 0;
  uint32_t padding = 0;
};

struct OverheadRecord {
  Kind kind = {};
  uint32_t overhead_kind = 0;
  uint32_t object_kind = 0;
  uint32_t object[3] = {};
  uint64_t start = 0;
  uint64_t end = 0;
};

/// CUpti_ActivityMemory3 and 4: memory was allocated or released.
struct MemoryRecord {
  Kind kind = {};
  uint32_t operation = 0;
  uint32_t memory_kind = 0;
  uint32_t correlation = 0;
  uint64_t address = 0;
  uint64_t bytes = 0;
  uint64_t time = 0;
  uint64_t program_counter = 0;
  uint32_t process = 0;
  uint32_t device = 0;
  uint32_t context = 0;
  uint32_t stream = 0;
  const char* name = nullptr;
  uint32_t is_async = 0;
  uint32_t padding = 0;
  uint32_t pool_type = 0;
  uint32_t pool_padding = 0;
  uint64_t pool_address = 0;
  uint64_t pool_release_threshold = 0;
  uint64_t pool_size = 0;  ///< if the pool is another process's: the id of that process
  uint64_t pool_used = 0;
};
constexpr uint32_t kAllocation = 1;  ///< CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION
constexpr uint32_t kRelease = 2;
constexpr uint32_t kOwnPool = 1;  ///< CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL

/// CUpti_ActivityMemoryPool2 and 3.
struct MemoryPoolRecord {
  Kind kind = {};
  uint32_t operation = 0;
  uint32_t pool_type = 0;
  uint32_t correlation = 0;
  uint32_t process = 0;
  uint32_t device = 0;
  uint64_t kept_bytes = 0;
  uint64_t address = 0;
  uint64_t size = 0;
  uint64_t release_threshold = 0;
  uint64_t time = 0;
  uint64_t used = 0;
};

/// CUpti_ActivityUnifiedMemoryCounter2 and 3: unified memory migrated, or page faults occurred.
struct UnifiedMemoryRecord {
  Kind kind = {};
  uint32_t counter = 0;
  uint64_t value = 0;
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t address = 0;
  uint32_t source = 0;
  uint32_t destination = 0;
  uint32_t stream = 0;
  uint32_t process = 0;
  uint32_t flags = 0;
  uint32_t padding = 0;
};
// CUpti_ActivityUnifiedMemoryCounterKind
constexpr uint32_t kUnifiedHostToDevice = 1;
constexpr uint32_t kUnifiedDeviceToHost = 2;
constexpr uint32_t kUnifiedCpuFaults = 3;
constexpr uint32_t kUnifiedGpuFaults = 4;

/// CUpti_ActivityUnifiedMemoryCounterConfig
struct UnifiedMemoryConfig {
  uint32_t scope = 1;  ///< PROCESS_SINGLE_DEVICE
  uint32_t counter = 0;
  uint32_t device = 0;
  uint32_t enable = 1;
};

// CUpti_ActivityEnvironmentKind
constexpr uint32_t kEnvironmentSpeed = 1;
constexpr uint32_t kEnvironmentTemperature = 2;
constexpr uint32_t kEnvironmentPower = 3;
constexpr uint32_t kThrottleNotTold = 0xC0000000;  ///< bits: not supported by this GPU, or unknown

/// A sample that CUPTI takes of a GPU by itself. environment_kind says which figures it holds.
struct EnvironmentRecord {
  Kind kind = {};
  uint32_t device = 0;
  uint64_t time = 0;
  uint32_t environment_kind = 0;
  /// Speed: SM clock and memory clock in MHz, PCIe generation and width, throttle reasons (NVML's
  /// bits). Temperature: degrees Celsius. Power: milliwatts, and their limit.
  uint32_t figures[5] = {};
};

/// A stream was created.
struct StreamRecord {
  Kind kind = {};
  uint32_t context = 0;
  uint32_t stream = 0;
  int32_t priority = 0;  ///< lower ones go first
  uint32_t flag = 0;
  uint32_t correlation = 0;
};

struct ContextRecord {
  Kind kind = {};
  uint32_t context = 0;
  uint32_t device = 0;
  uint16_t compute_api = 0;
  uint16_t null_stream = 0;
};

}  // namespace redline::cupti
