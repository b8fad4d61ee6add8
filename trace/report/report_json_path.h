// The JSON of what a step's length is made of: its critical path, and the sequences in it.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "trace/analysis/critical_path.h"
#include "trace/analysis/sequences.h"

namespace redline::trace {

/// null without steps.
[[nodiscard]] nlohmann::ordered_json critical_path_json(const Trace& trace,
                                                        const std::optional<CriticalPath>& path);

[[nodiscard]] nlohmann::ordered_json sequences_json(const Trace& trace,
                                                    std::span<const KernelSequence> sequences);

}  // namespace redline::trace
