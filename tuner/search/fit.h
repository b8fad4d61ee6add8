// Fits a curved model with a handful of parameters to a handful of trials, many times over, so that
// what the trials leave open shows as differences between the fits.
//
// Each fit minimizes a sum of squares (Levenberg and Marquardt, with derivatives by differences).
// To sample all plausible fits, data and prior means are shifted by draws of their own noise and
// fitted again ("randomize, then optimize"). This is exact if the model is linear, and unlike Monte
// Carlo it needs no derivatives of the prior's shape and no long chain.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace redline::tuner {

struct Prior {
  double mean = 0;
  double deviation = 1;
};

/// A draw of the standard normal distribution, by a hash and Box-Muller. It depends on nothing but
/// its arguments, so that the same search takes the same way on every machine.
[[nodiscard]] double normal_draw(uint64_t member, uint64_t place);

/// Fills `residuals` with what `parameters` predict minus what was measured, each divided by its
/// noise. If only one parameter has `moved` since `residuals` was filled, it may leave alone what
/// does not depend on that one.
using Residuals = std::function<void(const std::vector<double>& parameters,
                                     std::vector<double>& residuals, std::optional<size_t> moved)>;

struct Fit {
  std::vector<double> parameters;
  double misfit = 0;  ///< half the (robust) sum of squares, without that of the prior
};

/// Fits downhill from `start`, in at most `steps` steps. `centre` has the prior's means, which may
/// be shifted.
[[nodiscard]] Fit fit_parameters(const std::vector<Prior>& priors,
                                 const std::vector<double>& centre, std::vector<double> start,
                                 size_t residual_count, const Residuals& residuals, int steps);

}  // namespace redline::tuner
