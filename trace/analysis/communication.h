// The table of collectives, and how much of their time computation hides.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/intervals.h"
#include "trace/analysis/collective_calls.h"
#include "trace/analysis/steps.h"
#include "trace/model/model.h"

namespace redline::trace {

/// All calls of one collective with one message size in one group.
struct Collective {
  std::string name;
  CollectiveKind kind = CollectiveKind::kOther;
  std::string group;             ///< process group name, empty if the trace does not say
  int ranks = 0;                 ///< size of the group; 0: unknown
  std::optional<int64_t> bytes;  ///< sum of all calls; nullopt if the trace has no sizes
  int64_t first_seq = 0;         ///< CollectiveCall::seq of the first call
  int64_t last_seq = 0;
  bool seq_recorded = false;  ///< false: the two are ordinals, not the process group's numbers
  int64_t count = 0;
  std::optional<int64_t> total_ns;    ///< nullopt if the calls are not timed
  std::optional<int64_t> exposed_ns;  ///< the part in which the same process computes nothing
  std::optional<double> algorithm_bandwidth;  ///< bytes/s, as nccl-tests define the two
  std::optional<double> bus_bandwidth;

  [[nodiscard]] std::string_view algorithm() const { return kernel_algorithm(name); }
  [[nodiscard]] std::string_view protocol() const { return kernel_protocol(name); }
};

/// What a process communicated.
struct Communication {
  CollectiveCalls collectives;
  std::vector<Collective> table;  ///< longest total first
  /// When collectives were under way and no computation was. Computation means kernels of the same
  /// device or, for collectives on the host, operators of the same process.
  Intervals exposed;
  bool is_timed = true;  ///< false: the trace does not tell how long some calls took
};

[[nodiscard]] Communication find_communication(const Trace& trace, const NameKinds& names,
                                               const DeviceWorkTable& device, const HostTree& tree);

/// Of those calls the ones that began within the time.
[[nodiscard]] Communication communication_within(const Trace& trace, const CollectiveCalls& calls,
                                                 const HostTree& tree, Interval time);

/// Mean time a step in which collectives and no computation are under way.
[[nodiscard]] int64_t mean_exposed_ns(const Communication& communication,
                                      const std::vector<Step>& steps);

}  // namespace redline::trace
