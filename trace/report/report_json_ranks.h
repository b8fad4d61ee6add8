// The JSON of what ranks do together: collectives, clocks, waits.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "trace/analysis/communication.h"
#include "trace/analysis/ranks.h"

namespace redline::trace {

template <typename Value>
[[nodiscard]] nlohmann::ordered_json or_null(const std::optional<Value>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

[[nodiscard]] nlohmann::ordered_json collectives_json(const Communication& communication);

[[nodiscard]] nlohmann::ordered_json ranks_json(const RankComparison& comparison);

}  // namespace redline::trace
