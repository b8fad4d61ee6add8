// What each name took in each step of a run: the samples that a comparison judges noise by.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "trace/analysis/analysis.h"

namespace redline::trace {

/// One entry a step, means over the ranks; `mean_ns` and `mean_count` of all steps.
struct NameSamples {
  std::vector<double> ns;
  double mean_ns = 0;
  double mean_count = 0;
};
using SamplesByName = std::map<std::string, NameSamples>;

struct RunSamples {
  std::vector<double> step_ns;
  SamplesByName kernels;
  SamplesByName operators;    ///< own time on the host
  SamplesByName collectives;  ///< by kind
  SamplesByName copies;       ///< by kind, memsets too
};

/// The last steps, as many as all ranks have; a rank's recordings follow each other. Work counts
/// for the step in whose window it begins; what lies outside all steps does not count.
[[nodiscard]] RunSamples sample_steps(const std::vector<Analysis>& traces);

}  // namespace redline::trace
