// What the name of a collective says: its kind, and for a kernel the algorithm and protocol.
// (Whether a name is that of a collective at all: name_kinds.h.)
#pragma once

#include <cstdint>
#include <string_view>

namespace redline::trace {

enum class CollectiveKind : uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kBarrier,
  kBroadcast,
  kReduce,
  kGather,
  kScatter,
  kSendReceive,
  kOther,
};

/// Accepts any spelling: "allreduce", "nccl:all_reduce",
/// "ncclDevKernel_AllReduce_Sum_f32_RING_LL(…)".
[[nodiscard]] CollectiveKind collective_kind(std::string_view name);

[[nodiscard]] std::string_view kind_name(CollectiveKind kind);  ///< "all_reduce", "send_receive"

/// Whether no rank can leave such a collective before all have entered it.
[[nodiscard]] bool holds_all_ranks(CollectiveKind kind);

/// bus bandwidth = algorithm bandwidth * bus_factor, as nccl-tests defines it (doc/PERFORMANCE.md;
/// gather and scatter in src/gather.cu): all-reduce 2(n-1)/n, all-gather, reduce-scatter,
/// all-to-all, gather and scatter (n-1)/n, the others 1.
[[nodiscard]] double bus_factor(CollectiveKind kind, int ranks);

/// "ring", "tree", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"; "" if the name
/// has none. NCCL also sends other protocols through the kernel of that name (enqueue.cc), so
/// algorithm and protocol are only hints.
[[nodiscard]] std::string_view kernel_algorithm(std::string_view name);
/// "LL", "LL128", "Simple", or "".
[[nodiscard]] std::string_view kernel_protocol(std::string_view name);

/// Bytes of an element of a message, by c10's or NCCL's name of its type ("c10::Half", "bool"); 0
/// for a type that is not known.
[[nodiscard]] int64_t element_bytes(std::string_view type);

}  // namespace redline::trace
