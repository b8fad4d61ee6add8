// Names and "args" of NCCL's events in a trace.
#include <cstdio>
#include <utility>

#include "profiler/log/text_table.h"
#include "profiler/nccl/communicator.h"
#include "profiler/nccl/nccl_event.h"
#include "trace/emit/text_buffer.h"

namespace redline::nccl {
namespace {

class Members {
 public:
  void add(const char* key, std::string_view value) {
    if (!value.empty()) put(key, trace::json_string(value));
  }
  void add(const char* key, int64_t value) { put(key, std::to_string(value)); }
  void add_positive(const char* key, int64_t value) {
    if (value > 0) add(key, value);
  }
  void add_not_negative(const char* key, int64_t value) {
    if (value >= 0) add(key, value);
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  void put(const char* key, const std::string& json) {
    text_ += (text_.empty() ? "\"" : ", \"") + std::string(key) + "\": " + json;
  }
  std::string text_;
};

void add_communicator(Members& members, const Communicator& communicator) {
  const Communicator::Identity* identity = communicator.identity();
  if (identity == nullptr) return;
  char hex[20];
  std::snprintf(hex, sizeof(hex), "0x%016lx", identity->id);
  members.add("Communicator", hex);
  members.add("Communicator name", identity->name);
  members.add_not_negative("Rank", identity->rank);
  members.add_positive("Group size", identity->ranks);
}

bool is_call(uint64_t type) { return (type & (kColl | kP2p | kCollApi | kP2pApi | kCeColl)) != 0; }

bool has_root(std::string_view function) {
  return function == "Broadcast" || function == "Reduce" || function == "Gather" ||
         function == "Scatter";
}

}  // namespace

std::string_view name_of(const Event& event) {
  if (!event.function.empty()) return event.function;
  switch (event.type) {
    case kGroup:
    case kGroupApi:
      return "group";
    case kProxyOp:
      return event.is_send != 0 ? "proxy send" : "proxy receive";
    case kProxyStep:
      return "proxy step";
    case kProxyCtrl:
      return "proxy thread";
    case kKernelCh:
      return "kernel channel";
    case kKernelPhase:
      return "kernel phase";
    case kKernelLaunch:
      return "kernel launch";
    case kNetPlugin:
      return "network";
    case kCeSync:
      return "copy engine synchronization";
    case kCeBatch:
      return "copy engine batch";
    default:
      return "nccl event";
  }
}

std::string_view name_of(EventState state) {
  switch (state) {
    case kSendGpuWait:
      return "SendGPUWait";
    case kSendPeerWait:
      return "SendPeerWait";
    case kSendWait:
      return "SendWait";
    case kRecvWait:
      return "RecvWait";
    case kRecvFlushWait:
      return "RecvFlushWait";
    case kRecvGpuWait:
      return "RecvGPUWait";
    case kCtrlIdle:
      return "idle";
    case kCtrlActive:
      return "active";
    case kCtrlSleep:
      return "sleep";
    case kCtrlWakeup:
      return "wake-up";
    case kCtrlAppend:
      return "append";
    default:
      return {};
  }
}

std::string args_of(const Event& event) {
  Members members;
  if (event.communicator != nullptr) add_communicator(members, *event.communicator);
  members.add("dtype", event.datatype);
  if (is_call(event.type)) {
    members.add("Elements", static_cast<int64_t>(event.count));
    const uint64_t size = size_of_datatype(event.datatype);
    if (size > 0) members.add("Bytes", static_cast<int64_t>(event.count * size));
    if (has_root(event.function)) members.add_not_negative("Root", event.root);
  }
  if (event.type == kCeBatch) members.add("Operations", static_cast<int64_t>(event.count));
  members.add("Algorithm", event.algorithm);
  members.add("Protocol", event.protocol);
  members.add_positive("Channels", event.channels);
  members.add_positive("Warps", event.warps);
  members.add_not_negative("Channel", event.channel);
  members.add_not_negative("Peer", event.peer);
  members.add_positive("Steps", event.steps);
  members.add_positive("Chunk bytes", event.chunk_bytes);
  if (event.type == kNetPlugin) members.add("Network plugin", event.net_id);
  if (event.is_captured) members.add("In CUDA graph", 1);
  return members.take();
}

uint64_t args_key(const Event& event) {
  const uint64_t parts[] = {
      event.type,
      reinterpret_cast<uint64_t>(event.communicator),
      reinterpret_cast<uint64_t>(event.function.data()),
      reinterpret_cast<uint64_t>(event.datatype.data()),
      reinterpret_cast<uint64_t>(event.algorithm.data()),
      reinterpret_cast<uint64_t>(event.protocol.data()),
      event.count,
      static_cast<uint64_t>(event.net_id),
      uint64_t(uint32_t(event.root)) << 32 | uint32_t(event.peer),
      uint64_t(uint32_t(event.channel)) << 32 | uint32_t(event.steps),
      uint64_t(uint32_t(event.chunk_bytes)) << 32 | uint32_t(event.channels),
      uint64_t(uint32_t(event.warps)) << 32 | uint32_t(event.is_send + 1) << 1 | event.is_captured};
  const std::string_view bytes(reinterpret_cast<const char*>(parts), sizeof(parts));
  return profiler::hash_text(bytes, profiler::TextForm::kJson) | 1;
}

}  // namespace redline::nccl
