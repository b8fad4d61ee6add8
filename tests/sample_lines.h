// Samples as lines, "CPU 0 25 busy %", for tests to compare.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "profiler/host/host_samples.h"

namespace redline::testing {

inline std::string text_of(const std::vector<profiler::CounterSample>& samples) {
  std::ostringstream text;
  for (const auto& [track, unit, value] : samples) {
    text << track << " " << value << " " << unit << "\n";
  }
  return text.str();
}

}  // namespace redline::testing
