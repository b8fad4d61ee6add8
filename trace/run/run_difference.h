// How the runs of two programs differ in one quantity, given its value in each run.
#pragma once

#include <vector>

#include "base/statistics.h"

namespace redline::trace {

/// One value of each run, with its standard error by the run alone.
struct SideValues {
  std::vector<double> values;
  std::vector<double> errors;

  void add(double value, double error) {
    values.push_back(value);
    errors.push_back(error);
  }
};

/// How two sides are compared.
struct Comparing {
  bool paired = false;  ///< run i of one side took turns with run i of the other
  double assumed = 0;   ///< the spread between runs where there is too little to measure it by
  double tail = 0.05;   ///< the share of cases in which the interval misses the truth
};

struct SideDifference {
  ValueInterval interval;  ///< after minus before
  /// Standard deviation between runs of one side; in pairs, that of a pair's difference divided by
  /// √2.
  double spread = 0;
  bool is_assumed = false;
};

/// By Student's t. From a dozen pairs on by Wilcoxon's signed ranks, because now and then a whole
/// run is half as slow again, by how its memory happens to lie, and one such run would hide any
/// change from a mean. Both sides have at least one run; pairs are as many on each.
[[nodiscard]] SideDifference difference_of(const SideValues& before, const SideValues& after,
                                           const Comparing& how);

}  // namespace redline::trace
