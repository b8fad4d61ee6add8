// Parts of the JSON report: what a step's length is made of, and what ranks do together.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "base/json_values.h"
#include "trace/analysis/communication.h"
#include "trace/analysis/critical_path.h"
#include "trace/analysis/ranks.h"
#include "trace/analysis/streams.h"

namespace redline::trace {

/// null without steps.
[[nodiscard]] nlohmann::ordered_json critical_path_json(const StringTable& strings,
                                                        const std::optional<CriticalPath>& path);

[[nodiscard]] nlohmann::ordered_json sequences_json(const StringTable& strings,
                                                    std::span<const KernelSequence> sequences);

[[nodiscard]] nlohmann::ordered_json collectives_json(std::span<const Collective> collectives,
                                                      std::optional<double> link_gb_per_s);

[[nodiscard]] nlohmann::ordered_json ranks_json(const RankComparison& comparison);

}  // namespace redline::trace
