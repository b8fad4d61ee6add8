// A window of the recorder, through its C ABI, and the trace of it.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "profiler/c_api.h"
#include "tests/temporary_folder.h"

namespace redline::testing {

inline void begin_recording(const nlohmann::json& options = nlohmann::json::object()) {
  ASSERT_EQ(redline_prepare(options.dump().c_str()), 0) << redline_last_error();
  ASSERT_EQ(redline_start(), 0) << redline_last_error();
}

/// The window that has ended, which stays in the folder as trace.json.
inline nlohmann::json exported_to(const TemporaryFolder& folder) {
  const std::string path = folder / "trace.json";
  EXPECT_EQ(redline_export(path.c_str()), 0) << redline_last_error();
  return nlohmann::json::parse(std::ifstream(path));
}

inline nlohmann::json end_recording(const TemporaryFolder& folder = {}) {
  EXPECT_EQ(redline_stop(), 0) << redline_last_error();
  return exported_to(folder);
}

/// The names of its steps and ranges.
inline std::vector<std::string> annotations_of(const nlohmann::json& trace) {
  std::vector<std::string> names;
  for (const auto& event : trace["traceEvents"]) {
    if (event["cat"] == "user_annotation") names.push_back(event["name"]);
  }
  return names;
}

}  // namespace redline::testing
