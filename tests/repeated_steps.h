// A trace whose steps happen again and again, for what must not depend on how long a job is
// recorded.
#pragma once

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

namespace redline::testing {

/// The trace with all its events `times` times in a row. Every event has to lie within the marked
/// steps; "" if one does not, or if no step is marked.
inline std::string repeated(const std::string& trace, int times) {
  using nlohmann::json;
  json whole = json::parse(trace);
  const json once = std::move(whole["traceEvents"]);
  const auto end_of = [](const json& event) {
    return event["ts"].get<double>() + event.value("dur", 0.0);
  };
  const auto is_step = [](const json& event) {
    return event["name"].get<std::string>().starts_with("ProfilerStep#");
  };
  double begin = HUGE_VAL, end = -HUGE_VAL;
  int steps = 0, largest_id = 0;
  for (const json& event : once) {
    for (const char* key : {"correlation", "External id"}) {
      if (event.contains("args")) largest_id = std::max(largest_id, event["args"].value(key, 0));
    }
    if (!is_step(event)) continue;
    begin = std::min(begin, event["ts"].get<double>());
    end = std::max(end, end_of(event));
    ++steps;
  }
  json all = json::array();
  for (int round = 0; round < times; ++round) {
    for (json event : once) {
      if (event["ph"] == "M") continue;
      if (event["ts"] < begin || end_of(event) > end) return {};
      event["ts"] = event["ts"].get<double>() + round * (end - begin);
      if (is_step(event)) event["name"] = "ProfilerStep#" + std::to_string(round * steps);
      for (const char* key : {"correlation", "External id"}) {
        if (!event.contains("args") || event["args"].value(key, 0) == 0) continue;
        event["args"][key] = event["args"][key].get<int>() + round * largest_id;
      }
      all.push_back(std::move(event));
    }
  }
  whole["traceEvents"] = std::move(all);
  return steps == 0 ? "" : whole.dump();
}

}  // namespace redline::testing
