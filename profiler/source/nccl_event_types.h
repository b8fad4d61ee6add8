// The types of NCCL's events: its plugin's source records their bit, and the trace's writer draws
// each category as a row of its own.
#pragma once

#include <cstdint>
#include <string_view>

namespace redline::nccl {

/// As NCCL numbers them, for ever; also the bits of the mask of those that are wanted.
enum EventType : uint64_t {
  kGroup = 1 << 0,
  kColl = 1 << 1,
  kP2p = 1 << 2,
  kProxyOp = 1 << 3,
  kProxyStep = 1 << 4,
  kProxyCtrl = 1 << 5,
  kKernelCh = 1 << 6,
  kNetPlugin = 1 << 7,
  kGroupApi = 1 << 8,
  kCollApi = 1 << 9,
  kP2pApi = 1 << 10,
  kKernelLaunch = 1 << 11,
  kCeColl = 1 << 12,
  kCeSync = 1 << 13,
  kCeBatch = 1 << 14,
  kKernelPhase = 1 << 15,
};

/// "nccl collective": the row of a trace on which events of that type are drawn.
[[nodiscard]] inline std::string_view category_of(uint64_t type) {
  switch (type) {
    case kColl:
      return "nccl collective";
    case kP2p:
      return "nccl p2p";
    case kProxyOp:
    case kProxyStep:
    case kProxyCtrl:
      return "nccl proxy";
    case kKernelCh:
    case kKernelPhase:
      return "nccl kernel channel";
    case kNetPlugin:
      return "nccl network";
    case kCeColl:
    case kCeSync:
    case kCeBatch:
      return "nccl copy engine";
    default:
      return "nccl call";
  }
}

}  // namespace redline::nccl
