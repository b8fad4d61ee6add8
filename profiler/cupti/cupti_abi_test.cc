// Our copies of CUPTI's facts beside NVIDIA's own headers, where these are installed.
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
  EXPECT_LE(sizeof(KernelRecord), sizeof(Theirs));
}

/// Of memcpy, peer copies and memset.
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
  EXPECT_SAME(ContextRecord, device, CUpti_ActivityContext3, deviceId);
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
  EXPECT_EQ(kZeroedBuffers, CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER);
  EXPECT_EQ(kSystemThreadIds, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  EXPECT_EQ(kRuntimeDomain, CUPTI_CB_DOMAIN_RUNTIME_API);
  EXPECT_EQ(kDriverDomain, CUPTI_CB_DOMAIN_DRIVER_API);
}

#else

TEST(CuptiAbi, NeedsHeaders) { GTEST_SKIP() << "needs cupti.h, which comes with torch's wheels"; }

#endif

}  // namespace
}  // namespace redline::cupti
