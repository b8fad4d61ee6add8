// The binary interface of NCCL's profiler plugins. A plugin has one table of functions for each
// version, which NCCL finds by its name: ncclProfiler_v3 (NCCL 2.26), v4 (2.27), v5 (2.28), v6
// (2.29), v7 (2.31).
//
// No torch from 2.6 on comes with an NCCL that needs v1 (2.23) or v2 (2.24): 2.6 brings NCCL 2.21,
// which has no such plugins, and 2.7 brings 2.26.
//
// It is declared here rather than taken from NCCL, so that it builds on machines without NCCL. Only
// order and types of fields matter, and NCCL never changes them once a version is released.
#pragma once

#include <cstddef>
#include <cstdint>

#include "profiler/source/nccl_event_types.h"

namespace redline::nccl {

constexpr int kSuccess = 0;
constexpr int kSystemError = 2;

enum EventState : int {
  kSendGpuWait = 8,
  kSendWait = 9,
  kRecvWait = 10,
  kRecvFlushWait = 11,
  kRecvGpuWait = 12,
  kCtrlIdle = 13,
  kCtrlActive = 14,
  kCtrlSleep = 15,
  kCtrlWakeup = 16,
  kCtrlAppend = 17,
  kCtrlAppendEnd = 18,
  kOpInProgress = 19,
  kSendPeerWait = 20,
  kNetUpdate = 21,
  kKernelChStop = 22,
};

struct ProxyOpDescr {
  int pid;  ///< the process it comes from; `parent` is valid only in that process
  uint8_t channel;
  int peer;
  int steps;
  int chunk_bytes;
  int is_send;
};

struct NetDescr {
  int64_t id;
  void* data;
};

struct KernelChDescr {
  uint8_t channel;
  uint64_t ptimer;  ///< since v4: when the event began, in ns of the GPU's clock
};

struct CollDescrV3 {
  const char* name;
  uint64_t comm_hash;
  uint64_t seq;
  const char* func;
  const void* send_buffer;
  void* receive_buffer;
  size_t count;
  int root;
  const char* datatype;
  uint8_t channels;
  uint8_t warps;
  const char* algo;
  const char* proto;
};

struct P2pDescrV3 {
  const char* name;
  uint64_t comm_hash;
  const char* func;
  void* buffer;
  const char* datatype;
  size_t count;
  int peer;
};

struct DescrV3 {
  uint8_t type;
  void* parent;
  int rank;
  union {
    CollDescrV3 coll;
    P2pDescrV3 p2p;
    ProxyOpDescr proxy_op;
    int step;
    KernelChDescr kernel_ch;  ///< v3 sets only the channel
    NetDescr net;
  };
};

struct CollDescrV4 {
  uint64_t seq;
  const char* func;
  const void* send_buffer;
  void* receive_buffer;
  size_t count;
  int root;
  const char* datatype;
  uint8_t channels;
  uint8_t warps;
  const char* algo;
  const char* proto;
};

struct P2pDescrV4 {
  const char* func;
  void* buffer;
  const char* datatype;
  size_t count;
  int peer;
  uint8_t channels;
};

struct DescrV4 {
  uint8_t type;
  void* parent;
  int rank;
  union {
    CollDescrV4 coll;
    P2pDescrV4 p2p;
    ProxyOpDescr proxy_op;
    int step;
    KernelChDescr kernel_ch;
    NetDescr net;
  };
};

/// The descriptor of v5, v6 and v7. The later versions have more members in the union; each is read
/// only for events of its type. v7 also adds fields at the end of older members (the user's tag,
/// the variant of a kernel), which are not read.
struct DescrV5 {
  uint64_t type;
  void* parent;
  int rank;
  union {
    struct {
      bool graph_captured;
      int depth;
    } group_api;
    struct {
      const char* func;
      size_t count;
      const char* datatype;
      int root;
      void* stream;
      bool graph_captured;
    } coll_api;
    struct {
      const char* func;
      size_t count;
      const char* datatype;
      void* stream;
      bool graph_captured;
    } p2p_api;
    struct {
      void* stream;
    } kernel_launch;
    CollDescrV4 coll;  ///< NCCL has one more field here, a group for older versions
    P2pDescrV4 p2p;    ///< NCCL has the same field here
    ProxyOpDescr proxy_op;
    int step;
    KernelChDescr kernel_ch;
    NetDescr net;
    struct {
      uint64_t seq;
      const char* func;
      const void* send_buffer;
      void* receive_buffer;
      size_t count;
      int root;
      const char* datatype;
      const char* sync_strategy;
      bool intra_batch_sync;
      uint32_t batch_size;
      uint32_t batches;
      uint32_t ce_seq;
      void* stream;
    } ce_coll;
    struct {
      bool is_complete;
      int ranks;
    } ce_sync;
    struct {
      int ops;
      size_t bytes;
      bool use_intra_sync;
    } ce_batch;
    struct {
      uint8_t channel;
      uint8_t phase;
      const char* name;
      uint64_t ptimer;  ///< as in KernelChDescr
    } kernel_phase;
  };
};
// The offsets are those of profiler_v7.h in NCCL 2.31.
static_assert(offsetof(DescrV5, rank) == 16 && offsetof(DescrV5, coll) == 24);
static_assert(offsetof(DescrV5, coll.proto) == 24 + 72 &&
              offsetof(DescrV5, p2p.channels) == 24 + 36);
static_assert(offsetof(DescrV5, coll_api.graph_captured) == 24 + 40);
static_assert(offsetof(DescrV5, proxy_op.is_send) == 24 + 20);
static_assert(offsetof(DescrV5, kernel_ch.ptimer) == 24 + 8 &&
              offsetof(DescrV5, net.data) == 24 + 8);
static_assert(offsetof(DescrV5, ce_coll.stream) == 24 + 80 &&
              offsetof(DescrV5, ce_batch.bytes) == 24 + 8);
static_assert(offsetof(DescrV5, kernel_phase.name) == 24 + 8 &&
              offsetof(DescrV5, kernel_phase.ptimer) == 24 + 16);

/// The argument of a change of state. The type of the event says which member is set.
union StateArgs {
  size_t transferred_bytes;  ///< for a proxy operation up to v3, for a proxy step since v4
  int appended_ops;
  void* net_data;
  uint64_t ptimer;
};

template <typename Init, typename Descr>
struct Plugin {
  const char* name;
  Init init;
  int (*start_event)(void* context, void** handle, Descr* descr);
  int (*stop_event)(void* handle);
  int (*record_event_state)(void* handle, EventState state, StateArgs* args);
  int (*finalize)(void* context);
};

using Log = void (*)(int level, unsigned long flags, const char* file, int line, const char* format,
                     ...);
using InitV3 = int (*)(void** context, int* mask);
using InitV4 = int (*)(void** context, int* mask, const char* comm_name, uint64_t comm_hash,
                       int nodes, int ranks, int rank, Log log);
using InitV5 = int (*)(void** context, uint64_t comm, int* mask, const char* comm_name, int nodes,
                       int ranks, int rank, Log log);

using PluginV3 = Plugin<InitV3, DescrV3>;
using PluginV4 = Plugin<InitV4, DescrV4>;
using PluginV5 = Plugin<InitV5, DescrV5>;

}  // namespace redline::nccl

extern "C" {
#define REDLINE_NCCL_API extern __attribute__((visibility("default"))) const
REDLINE_NCCL_API redline::nccl::PluginV3 ncclProfiler_v3;
REDLINE_NCCL_API redline::nccl::PluginV4 ncclProfiler_v4;
REDLINE_NCCL_API redline::nccl::PluginV5 ncclProfiler_v5;
REDLINE_NCCL_API redline::nccl::PluginV5 ncclProfiler_v6;
REDLINE_NCCL_API redline::nccl::PluginV5 ncclProfiler_v7;
#undef REDLINE_NCCL_API
}
