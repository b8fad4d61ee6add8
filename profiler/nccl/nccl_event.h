// An event of NCCL in one form for all versions of the plugin interface.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "profiler/nccl/nccl_abi.h"

namespace redline::nccl {

class Communicator;

/// The texts are constants of NCCL, so they stay valid.
struct Event {
  uint64_t type = 0;
  uint64_t parent = 0;  ///< the handle of the parent; 0: none
  const Communicator* communicator = nullptr;
  std::string_view function = {};
  std::string_view datatype = {};
  std::string_view algorithm = {};
  std::string_view protocol = {};
  uint64_t number = 0;  ///< sequence number of a collective; bytes of a transfer
  uint64_t count = 0;   ///< number of elements, or of operations in a batch
  uint64_t ptimer = 0;  ///< its begin by the GPU's clock; 0: unknown
  const void* stream = nullptr;
  int64_t net_id = 0;
  uint32_t step = 0;  ///< number of a proxy step; for a host's call the operator around it
  int root = -1;
  int peer = -1;
  int channel = -1;
  int steps = 0;
  int chunk_bytes = 0;
  int is_send = -1;
  int channels = 0;
  int warps = 0;
  bool is_captured = false;  ///< the call went into a CUDA graph, which runs later
};

[[nodiscard]] Event event_of(const DescrV3& descr);
[[nodiscard]] Event event_of(const DescrV4& descr);
[[nodiscard]] Event event_of(const DescrV5& descr);

/// "AllReduce", "Send", "proxy receive", …
[[nodiscard]] std::string_view name_of(const Event& event);
/// Says what a proxy step waits for or a proxy thread does, such as "SendGPUWait"; "" for other
/// states.
[[nodiscard]] std::string_view name_of(EventState state);
/// Members of "args", without those that differ in each event, such as sequence numbers.
[[nodiscard]] std::string args_of(const Event& event);
/// A hash of all that args_of() takes from `event`; never 0.
[[nodiscard]] uint64_t args_key(const Event& event);

/// The bytes of one element of a type such as "ncclFloat32"; 0 for an unknown type.
[[nodiscard]] uint64_t size_of_datatype(std::string_view datatype);

}  // namespace redline::nccl
