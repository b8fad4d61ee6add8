#include "profiler/nccl/nccl_event.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>

namespace redline::nccl {
namespace {

std::string_view text(const char* text) { return text != nullptr ? text : std::string_view(); }

struct Datatype {
  std::string_view name;
  uint64_t bytes;
};
constexpr Datatype kDatatypes[] = {
    {"ncclInt8", 1},    {"ncclUint8", 1},    {"ncclInt32", 4},      {"ncclUint32", 4},
    {"ncclInt64", 8},   {"ncclUint64", 8},   {"ncclFloat16", 2},    {"ncclFloat32", 4},
    {"ncclFloat64", 8}, {"ncclBfloat16", 2}, {"ncclFloat8e4m3", 1}, {"ncclFloat8e5m2", 1}};

template <typename Descr>
Event begin_event(const Descr& descr) {
  Event event;
  event.type = descr.type;
  event.parent = reinterpret_cast<uint64_t>(descr.parent);
  return event;
}

template <typename Coll>
void take_collective(const Coll& coll, Event& event) {
  event.number = coll.seq;
  event.count = coll.count;
  event.root = coll.root;
  event.channels = coll.channels;
  event.warps = coll.warps;
  event.function = text(coll.func);
  event.datatype = text(coll.datatype);
  event.algorithm = text(coll.algo);
  event.protocol = text(coll.proto);
}

template <typename P2p>
void take_p2p(const P2p& p2p, Event& event) {
  event.function = text(p2p.func);
  event.datatype = text(p2p.datatype);
  event.count = p2p.count;
  event.peer = p2p.peer;
}

template <typename Descr>
void take_proxy(const Descr& descr, Event& event) {
  if (descr.type == kProxyStep) event.step = static_cast<uint32_t>(descr.step);
  if (descr.type != kProxyOp) return;
  const ProxyOpDescr& op = descr.proxy_op;
  event.channel = op.channel;
  event.peer = op.peer;
  event.steps = op.steps;
  event.chunk_bytes = op.chunk_bytes;
  event.is_send = op.is_send != 0;
  if (op.pid != getpid()) event.parent = 0;
}

/// Takes the fields that all versions have.
template <typename Descr>
void take_named(const Descr& descr, Event& event) {
  if (descr.type == kColl) take_collective(descr.coll, event);
  if (descr.type == kP2p) take_p2p(descr.p2p, event);
  take_proxy(descr, event);
}

template <typename Descr>
void take_v4(const Descr& descr, Event& event) {
  take_named(descr, event);
  if (descr.type == kP2p) event.channels = descr.p2p.channels;
  if (descr.type == kKernelCh) {
    event.channel = descr.kernel_ch.channel;
    event.ptimer = descr.kernel_ch.ptimer;
  }
  if (descr.type == kNetPlugin) event.net_id = descr.net.id;
}

/// Takes the fields that calls of the API and collectives on copy engines have.
template <typename Call>
void take_call(const Call& call, Event& event) {
  event.function = text(call.func);
  event.datatype = text(call.datatype);
  event.count = call.count;
  event.stream = call.stream;
}

void take_calls(const DescrV5& descr, Event& event) {
  if (descr.type == kGroupApi) event.is_captured = descr.group_api.graph_captured;
  if (descr.type == kKernelLaunch) event.stream = descr.kernel_launch.stream;
  if (descr.type == kCollApi) {
    take_call(descr.coll_api, event);
    event.root = descr.coll_api.root;
    event.is_captured = descr.coll_api.graph_captured;
  }
  if (descr.type == kP2pApi) {
    take_call(descr.p2p_api, event);
    event.is_captured = descr.p2p_api.graph_captured;
  }
}

void take_copy_engine(const DescrV5& descr, Event& event) {
  if (descr.type == kCeColl) {
    take_call(descr.ce_coll, event);
    event.number = descr.ce_coll.seq;
    event.root = descr.ce_coll.root;
  }
  if (descr.type == kCeBatch) {
    event.number = descr.ce_batch.bytes;
    event.count = static_cast<uint64_t>(descr.ce_batch.ops);
  }
}

void take_phase(const DescrV5& descr, Event& event) {
  if (descr.type != kKernelPhase) return;
  event.channel = descr.kernel_phase.channel;
  event.ptimer = descr.kernel_phase.ptimer;
  event.function = text(descr.kernel_phase.name);
}

}  // namespace

Event event_of(const DescrV3& descr) {
  Event event = begin_event(descr);
  take_named(descr, event);
  if (descr.type == kKernelCh) event.channel = descr.kernel_ch.channel;
  if (descr.type == kNetPlugin) event.net_id = descr.net.id;
  return event;
}

Event event_of(const DescrV4& descr) {
  Event event = begin_event(descr);
  take_v4(descr, event);
  return event;
}

Event event_of(const DescrV5& descr) {
  Event event = begin_event(descr);
  take_v4(descr, event);
  take_calls(descr, event);
  take_copy_engine(descr, event);
  take_phase(descr, event);
  return event;
}

uint64_t size_of_datatype(std::string_view datatype) {
  const auto* known = std::ranges::find(kDatatypes, datatype, &Datatype::name);
  return known != std::end(kDatatypes) ? known->bytes : 0;
}

}  // namespace redline::nccl
