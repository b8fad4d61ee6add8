// The types of NCCL's events. The NCCL plugin records the type's bit, and the writer of the trace
// puts each category on a separate row.
#pragma once

#include <cstdint>
#include <string_view>

namespace redline::nccl {

/// NCCL's numbers, which it never changes. They are also the bits of the mask of wanted events.
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

/// The row of a trace on which events of that type are drawn, such as "nccl collective".
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
