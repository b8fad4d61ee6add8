// Sizes, machines and names that the tests of the tuner speak of.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tuner/space/machine.h"
#include "tuner/space/space.h"

namespace redline::testing {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kGiB = uint64_t{1} << 30;

constexpr tuner::Machine kCpuMachine{.gpu = false, .cores = 4};
constexpr tuner::Machine kGpuMachine{.gpu = true, .cores = 4};

inline std::vector<std::string> names_of(const tuner::Space& space) {
  std::vector<std::string> names;
  for (const tuner::Knob& knob : space.knobs) names.push_back(knob.name);
  return names;
}

}  // namespace redline::testing
