// Fits a curved model with a handful of parameters to a handful of trials, many times over, so that
// what the trials leave open shows as differences between the fits.
//
// Each fit minimizes the squares of what it was given (Levenberg and Marquardt, derivatives by
// differences). For a sample of all that is plausible, data and prior means are shifted by draws of
// their own noise and fitted anew ("randomize, then optimize"): exact where the model is linear,
// and it needs no derivatives of the prior's shape and no long chain as Monte Carlo does.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

namespace redline::tuner {

struct Prior {
  double mean = 0;
  double deviation = 1;
};

/// Draws that depend on nothing but their place: the same search takes the same way everywhere.
/// Of the standard normal distribution, by a hash and Box-Muller.
[[nodiscard]] double normal_draw(uint64_t member, uint64_t place);

/// Fills `residuals`, each divided by its own noise, with what `parameters` predict.
using Residuals =
    std::function<void(const std::vector<double>& parameters, std::vector<double>& residuals)>;

struct Fit {
  std::vector<double> parameters;
  double misfit = 0;  ///< half the sum of squares, without the prior's
};

/// From `start` downhill. `centre`: the prior's means, shifted or not.
[[nodiscard]] Fit fit_parameters(const std::vector<Prior>& priors,
                                 const std::vector<double>& centre, std::vector<double> start,
                                 size_t residual_count, const Residuals& residuals, int steps);

}  // namespace redline::tuner
