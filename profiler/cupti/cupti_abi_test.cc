// Compares our declarations of CUPTI's ABI with NVIDIA's headers, if these are installed.
#include "profiler/cupti/cupti_abi.h"

#include <gtest/gtest.h>

#if __has_include(<cupti.h>)
#include <cupti.h>
#define REDLINE_HAS_CUPTI_HEADERS
#endif

namespace redline::cupti {
namespace {

#ifdef REDLINE_HAS_CUPTI_HEADERS

#define EXPECT_SAME(ours, field, theirs, its) \
  EXPECT_EQ(offsetof(ours, field), offsetof(theirs, its)) << #ours "." #field

template <typename Theirs>
void expect_kernel() {
  EXPECT_SAME(KernelRecord, registers_per_thread, Theirs, registersPerThread);
  EXPECT_SAME(KernelRecord, start, Theirs, start);
  EXPECT_SAME(KernelRecord, end, Theirs, end);
  EXPECT_SAME(KernelRecord, device, Theirs, deviceId);
  EXPECT_SAME(KernelRecord, context, Theirs, contextId);
  EXPECT_SAME(KernelRecord, stream, Theirs, streamId);
  EXPECT_SAME(KernelRecord, grid, Theirs, gridX);
  EXPECT_SAME(KernelRecord, block, Theirs, blockX);
  EXPECT_SAME(KernelRecord, static_shared_memory, Theirs, staticSharedMemory);
  EXPECT_SAME(KernelRecord, dynamic_shared_memory, Theirs, dynamicSharedMemory);
  EXPECT_SAME(KernelRecord, correlation, Theirs, correlationId);
  EXPECT_SAME(KernelRecord, name, Theirs, name);
  EXPECT_SAME(KernelRecord, graph_node, Theirs, graphNodeId);
  EXPECT_SAME(KernelRecord, graph, Theirs, graphId);
  EXPECT_SAME(KernelRecord, cluster, Theirs, clusterX);
  EXPECT_LE(offsetof(KernelRecord, of_later_versions), sizeof(Theirs));
}

/// Compares the fields that memcpy, peer copies and memset have in common.
template <typename Ours, typename Theirs>
void expect_transfer() {
  EXPECT_SAME(Ours, bytes, Theirs, bytes);
  EXPECT_SAME(Ours, start, Theirs, start);
  EXPECT_SAME(Ours, end, Theirs, end);
  EXPECT_SAME(Ours, device, Theirs, deviceId);
  EXPECT_SAME(Ours, context, Theirs, contextId);
  EXPECT_SAME(Ours, stream, Theirs, streamId);
  EXPECT_SAME(Ours, correlation, Theirs, correlationId);
  EXPECT_SAME(Ours, graph_node, Theirs, graphNodeId);
  EXPECT_SAME(Ours, graph, Theirs, graphId);
  EXPECT_LE(sizeof(Ours), sizeof(Theirs));
}

TEST(CuptiAbi, WorkOfAGpu) {
  expect_kernel<CUpti_ActivityKernel8>();
  expect_kernel<CUpti_ActivityKernel9>();
  expect_kernel<CUpti_ActivityKernel10>();
#if CUPTI_API_VERSION >= 130100
  EXPECT_SAME(KernelRecord, priority, CUpti_ActivityKernel11, priority);
  EXPECT_EQ(sizeof(KernelRecord), sizeof(CUpti_ActivityKernel11));
#else
  // Later versions have more fields at the end, first the priority.
  EXPECT_EQ(offsetof(KernelRecord, priority), sizeof(CUpti_ActivityKernel10));
#endif
  expect_transfer<MemcpyRecord, CUpti_ActivityMemcpy5>();
  expect_transfer<MemcpyRecord, CUpti_ActivityMemcpy6>();
  expect_transfer<PeerCopyRecord, CUpti_ActivityMemcpyPtoP4>();
  expect_transfer<MemsetRecord, CUpti_ActivityMemset4>();
  EXPECT_SAME(MemcpyRecord, copy_kind, CUpti_ActivityMemcpy6, copyKind);
  EXPECT_SAME(MemcpyRecord, destination_kind, CUpti_ActivityMemcpy6, dstKind);
  EXPECT_SAME(PeerCopyRecord, source_device, CUpti_ActivityMemcpyPtoP4, srcDeviceId);
  EXPECT_SAME(PeerCopyRecord, destination_context, CUpti_ActivityMemcpyPtoP4, dstContextId);
  EXPECT_SAME(MemsetRecord, memory_kind, CUpti_ActivityMemset4, memoryKind);
}

TEST(CuptiAbi, CallsAndTheRest) {
  EXPECT_SAME(ApiRecord, function, CUpti_ActivityAPI, cbid);
  EXPECT_SAME(ApiRecord, start, CUpti_ActivityAPI, start);
  EXPECT_SAME(ApiRecord, thread, CUpti_ActivityAPI, threadId);
  EXPECT_SAME(ApiRecord, correlation, CUpti_ActivityAPI, correlationId);
  EXPECT_SAME(ExternalCorrelationRecord, external, CUpti_ActivityExternalCorrelation, externalId);
  EXPECT_SAME(ExternalCorrelationRecord, correlation, CUpti_ActivityExternalCorrelation,
              correlationId);
  EXPECT_SAME(SynchronizationRecord, start, CUpti_ActivitySynchronization, start);
  EXPECT_SAME(SynchronizationRecord, event, CUpti_ActivitySynchronization, cudaEventId);
  EXPECT_SAME(SynchronizationRecord, event, CUpti_ActivitySynchronization2, cudaEventId);
  EXPECT_SAME(CudaEventRecord, event, CUpti_ActivityCudaEvent, eventId);
  EXPECT_SAME(CudaEventRecord, event, CUpti_ActivityCudaEvent2, eventId);
  EXPECT_SAME(OverheadRecord, overhead_kind, CUpti_ActivityOverhead, overheadKind);
  EXPECT_SAME(OverheadRecord, end, CUpti_ActivityOverhead3, end);
  EXPECT_SAME(EnvironmentRecord, device, CUpti_ActivityEnvironment, deviceId);
  EXPECT_SAME(EnvironmentRecord, time, CUpti_ActivityEnvironment, timestamp);
  EXPECT_SAME(EnvironmentRecord, environment_kind, CUpti_ActivityEnvironment, environmentKind);
  EXPECT_SAME(EnvironmentRecord, figures, CUpti_ActivityEnvironment, data.speed.smClock);
  EXPECT_EQ(sizeof(EnvironmentRecord), sizeof(CUpti_ActivityEnvironment));
  EXPECT_SAME(SubscriberParams, name, CUpti_SubscriberParams, subscriberName);
  EXPECT_SAME(SubscriberParams, other_size, CUpti_SubscriberParams, oldSubscriberSize);
  EXPECT_SAME(ContextRecord, device, CUpti_ActivityContext3, deviceId);
}

/// For versions 3 and 4 of the record.
template <typename Theirs>
void expect_memory() {
  EXPECT_SAME(MemoryRecord, operation, Theirs, memoryOperationType);
  EXPECT_SAME(MemoryRecord, memory_kind, Theirs, memoryKind);
  EXPECT_SAME(MemoryRecord, address, Theirs, address);
  EXPECT_SAME(MemoryRecord, time, Theirs, timestamp);
  EXPECT_SAME(MemoryRecord, device, Theirs, deviceId);
  EXPECT_SAME(MemoryRecord, stream, Theirs, streamId);
  EXPECT_SAME(MemoryRecord, is_async, Theirs, isAsync);
  EXPECT_SAME(MemoryRecord, pool_type, Theirs, memoryPoolConfig);
  EXPECT_SAME(MemoryRecord, pool_used, Theirs, memoryPoolConfig.utilizedSize);
  EXPECT_LE(sizeof(MemoryRecord), sizeof(Theirs));
}

template <typename Pool, typename Unified>
void expect_pool_and_unified() {
  EXPECT_SAME(MemoryPoolRecord, device, Pool, deviceId);
  EXPECT_SAME(MemoryPoolRecord, address, Pool, address);
  EXPECT_SAME(MemoryPoolRecord, time, Pool, timestamp);
  EXPECT_SAME(MemoryPoolRecord, used, Pool, utilizedSize);
  EXPECT_LE(sizeof(MemoryPoolRecord), sizeof(Pool));
  EXPECT_SAME(UnifiedMemoryRecord, counter, Unified, counterKind);
  EXPECT_SAME(UnifiedMemoryRecord, end, Unified, end);
  EXPECT_SAME(UnifiedMemoryRecord, destination, Unified, dstId);
  EXPECT_LE(sizeof(UnifiedMemoryRecord), sizeof(Unified));
}

TEST(CuptiAbi, Memory) {
  expect_memory<CUpti_ActivityMemory3>();
  expect_memory<CUpti_ActivityMemory4>();
  expect_pool_and_unified<CUpti_ActivityMemoryPool2, CUpti_ActivityUnifiedMemoryCounter2>();
  expect_pool_and_unified<CUpti_ActivityMemoryPool3, CUpti_ActivityUnifiedMemoryCounter3>();
  EXPECT_SAME(StreamRecord, priority, CUpti_ActivityStream, priority);
  EXPECT_EQ(sizeof(UnifiedMemoryConfig), sizeof(CUpti_ActivityUnifiedMemoryCounterConfig));
  EXPECT_EQ(UnifiedMemoryConfig().scope,
            uint32_t{CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE});
  EXPECT_EQ(static_cast<int>(Kind::kMemory), CUPTI_ACTIVITY_KIND_MEMORY2);
  EXPECT_EQ(static_cast<int>(Kind::kMemoryPool), CUPTI_ACTIVITY_KIND_MEMORY_POOL);
  EXPECT_EQ(static_cast<int>(Kind::kUnifiedMemory), CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
  EXPECT_EQ(static_cast<int>(Kind::kStream), CUPTI_ACTIVITY_KIND_STREAM);
  EXPECT_EQ(kRelease, uint32_t{CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE});
  EXPECT_EQ(kOwnPool, uint32_t{CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL});
  EXPECT_EQ(kUnifiedGpuFaults, uint32_t{CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT});
}

TEST(CuptiAbi, Numbers) {
  EXPECT_EQ(static_cast<int>(Kind::kConcurrentKernel), CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  EXPECT_EQ(static_cast<int>(Kind::kPeerCopy), CUPTI_ACTIVITY_KIND_MEMCPY2);
  EXPECT_EQ(static_cast<int>(Kind::kRuntime), CUPTI_ACTIVITY_KIND_RUNTIME);
  EXPECT_EQ(static_cast<int>(Kind::kDriver), CUPTI_ACTIVITY_KIND_DRIVER);
  EXPECT_EQ(static_cast<int>(Kind::kOverhead), CUPTI_ACTIVITY_KIND_OVERHEAD);
  EXPECT_EQ(static_cast<int>(Kind::kCudaEvent), CUPTI_ACTIVITY_KIND_CUDA_EVENT);
  EXPECT_EQ(static_cast<int>(Kind::kSynchronization), CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
  EXPECT_EQ(static_cast<int>(Kind::kExternalCorrelation), CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
  EXPECT_EQ(kMultipleSubscribers, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  EXPECT_EQ(kInsufficientPrivileges, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
  EXPECT_EQ(kMaxLimitReached, CUPTI_ERROR_MAX_LIMIT_REACHED);
  EXPECT_EQ(int{kOperatorIds}, CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0);
  EXPECT_EQ(int{kAnnotationIds}, CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1);
  EXPECT_EQ(kNotCompatible, CUPTI_ERROR_NOT_COMPATIBLE);
  EXPECT_EQ(kStampBuffers, CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT);
  EXPECT_EQ(kZeroedBuffers, CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER);
  EXPECT_EQ(kBuffersByThread, CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER);
  EXPECT_EQ(static_cast<int>(Kind::kEnvironment), CUPTI_ACTIVITY_KIND_ENVIRONMENT);
  EXPECT_EQ(int{kEnvironmentPower}, CUPTI_ACTIVITY_ENVIRONMENT_POWER);
  EXPECT_EQ(kSystemThreadIds, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  EXPECT_EQ(kRuntimeDomain, CUPTI_CB_DOMAIN_RUNTIME_API);
  EXPECT_EQ(kDriverDomain, CUPTI_CB_DOMAIN_DRIVER_API);
}

#else

TEST(CuptiAbi, NeedsHeaders) { GTEST_SKIP() << "needs cupti.h, which comes with torch's wheels"; }

#endif

}  // namespace
}  // namespace redline::cupti
