// Every call of a collective in a trace, with what the trace says of it in any of its places.
//
// The slice of a call is its kernel if the GPU ran it (NCCL, RCCL), else the process group's
// annotation (Gloo), else "record_param_comms". Newer traces write message size, group and sequence
// number on the kernel. Older ones have them, if at all, on the operators around the launch, so
// these are searched, too.
//
// NCCL's annotations and "record_param_comms" end once the kernel is launched. Where a trace has
// nothing else (no GPU was recorded, or a group of one rank needs no kernel), it does not tell how
// long collectives take.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/analysis/device_work.h"
#include "trace/analysis/host_tree.h"
#include "trace/emit/collective_names.h"
#include "trace/model/model.h"

namespace redline::trace {

/// A process group as the trace names it; both are empty if the trace does not.
struct ProcessGroup {
  std::string name;
  std::string ranks;  ///< as written, "[0, 1, …]"
  bool operator==(const ProcessGroup&) const = default;
};

constexpr int32_t kHostDevice = -1;

struct CollectiveCall {
  SliceId slice;
  SliceId launch;  ///< the runtime call that launched the kernel; none() if unknown or on the host
  CollectiveKind kind = CollectiveKind::kOther;
  uint32_t group = 0;            ///< index into CollectiveCalls::groups
  int32_t device = kHostDevice;  ///< the GPU that the kernel ran on
  bool is_timed = true;          ///< whether the slice is as long as the collective
  int ranks = 0;                 ///< size of the group; 0: unknown
  /// Size of the message as nccl-tests counts it: for an all-gather all that a rank receives, for a
  /// reduce-scatter all that it sends. -1: the trace does not say.
  int64_t bytes = -1;
  /// The process group's own count ("Seq"). If the trace lacks it, the ordinal (from 0) of the call
  /// among those of its group, kind and size in this trace.
  int64_t seq = 0;
  bool seq_recorded = false;
};

struct CollectiveCalls {
  std::vector<ProcessGroup> groups;
  std::vector<CollectiveCall> calls;  ///< by begin
};

[[nodiscard]] CollectiveCalls find_collective_calls(const Trace& trace, const NameKinds& names,
                                                    const DeviceWorkTable& device,
                                                    const HostTree& tree);

}  // namespace redline::trace
