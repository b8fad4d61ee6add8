// What a plugin's descriptor says of an event, the same for all versions of the interface.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "profiler/nccl/nccl_abi.h"

namespace redline::nccl {

class Communicator;

/// Texts are NCCL's own constants.
struct Event {
  uint64_t type = 0;
  uint64_t parent = 0;  ///< its handle; 0: none
  const Communicator* communicator = nullptr;
  std::string_view function = {};
  std::string_view datatype = {};
  std::string_view algorithm = {};
  std::string_view protocol = {};
  uint64_t number = 0;  ///< a collective's sequence number; a transfer's bytes
  uint64_t count = 0;   ///< elements; operations of a batch
  uint64_t ptimer = 0;  ///< of the GPU's clock; 0: none
  const void* stream = nullptr;
  int64_t net_id = 0;
  uint32_t step = 0;  ///< of a proxy step; the operator around a host's call
  int root = -1;
  int peer = -1;
  int channel = -1;
  int steps = 0;
  int chunk_bytes = 0;
  int is_send = -1;
  int channels = 0;
  int warps = 0;
  bool is_captured = false;  ///< into a CUDA graph: enqueued once, run later
};

[[nodiscard]] Event event_of(const DescrV3& descr);
[[nodiscard]] Event event_of(const DescrV4& descr);
[[nodiscard]] Event event_of(const DescrV5& descr);

/// "AllReduce", "Send", "proxy receive", …
[[nodiscard]] std::string_view name_of(const Event& event);
/// "SendGPUWait", …: what a proxy step waits for, or a proxy thread does; "" of other states.
[[nodiscard]] std::string_view name_of(EventState state);
/// Members of "args" but what numbers each event anew.
[[nodiscard]] std::string args_of(const Event& event);
/// A hash of all that args_of() takes from `event`; never 0.
[[nodiscard]] uint64_t args_key(const Event& event);

/// Bytes of an element of "ncclFloat32" and the like; 0 of one that is not known.
[[nodiscard]] uint64_t size_of_datatype(std::string_view datatype);

}  // namespace redline::nccl
