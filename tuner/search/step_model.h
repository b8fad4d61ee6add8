// A model of the training step with few, physical parameters, fitted to all trials so far.
//
// A step waits for the slower of two pipes. Compute takes the time of its launches or of its
// samples, whichever is longer; each switch and precision changes the time of the samples by a
// factor, but not that of the launches. The loader gives a number of samples a second for each
// worker, up to the number of cores. So a trial in which the loader was slower tells little about
// precision, and the model shows this: its fits (see fit.h) differ there.
//
// Trees and Gaussian processes alone were rejected, because they assume that what a trial showed
// under one bottleneck holds under another. A Gaussian process remains for what the parts leave
// unexplained, such as knobs that the model does not know.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "tuner/search/fit.h"
#include "tuner/search/gaussian_process.h"
#include "tuner/search/strategy.h"

namespace redline::tuner {

/// A configuration as the model sees it.
struct Place {
  double batch = 1;
  std::optional<double> workers;
  bool reduced = false;  ///< precision is reduced, so that odd batch sizes are slow
  /// Indices of parameters, and how much each counts.
  std::vector<std::pair<size_t, double>> factors;
  Point point;  ///< for what is left unexplained
};

/// The parts of a step, as the samples a second that each would reach if nothing else held it back.
struct StepParts {
  double rate = 0;
  double compute = 0;
  double loader = 0;      ///< HUGE_VAL if no loader is known
  double wait_share = 0;  ///< share of the step in which it waits for the loader
};

class StepModel {
 public:
  /// `history` must hold a trial that is ok (asserted). All must outlive the model.
  StepModel(const Space& space, const SearchSettings& settings, const History& history);

  [[nodiscard]] size_t members() const { return members_.size(); }
  [[nodiscard]] Place place(const Config& config) const;
  /// The parts by one of the plausible fits, without what they leave unexplained.
  [[nodiscard]] StepParts parts(size_t member, const Place& place) const;
  /// The parts by the likeliest fit.
  [[nodiscard]] StepParts parts(const Place& place) const;

  /// The logarithm of the rate by each fit, with what was unexplained in trials nearby.
  [[nodiscard]] std::vector<double> log_rates(const Place& place) const;
  /// The standard deviation of what may be unexplained there.
  [[nodiscard]] double unexplained(const Place& place) const;
  /// The relative noise from one run to the next.
  [[nodiscard]] double noise() const { return noise_; }

 private:
  struct Observation {
    Place place;
    double log_rate;
    double error;
    std::optional<double> wait_share;
  };
  /// The parameters that do not belong to values of knobs.
  enum Parameter : size_t {
    kPeak,
    kHalfBatch,
    kSoftness,
    kReducedLaunch,
    kDecline,
    kDeclineFrom,
    kLoader,
    kCores,
    kCrowd,
    kOverlap,
    kStolen,
    kOddBatch,
    kNoWorker,
    kFixedCount
  };
  void set_priors();
  void add_choice(const Knob& knob);
  void add_number(const Knob& knob);
  void observe();
  void fit();
  [[nodiscard]] StepParts predict(const std::vector<double>& parameters, const Place& place) const;
  [[nodiscard]] Fit fit_member(uint64_t member, bool shifted) const;

  const Space& space_;
  const SearchSettings& settings_;
  const History& history_;
  std::vector<Prior> priors_;
  struct KnobTerms {
    size_t first = 0;  ///< index of the parameter of the first value, or of a number's slope
    size_t reduced = 0;
    double reference = 0, span = 1;
  };
  std::vector<KnobTerms> terms_;  ///< by knob
  std::optional<size_t> layout_with_amp_;
  std::vector<Observation> observations_;
  double noise_ = 0.02;
  Fit likeliest_;
  std::vector<Fit> members_;
  std::optional<GaussianProcess> rest_;
};

}  // namespace redline::tuner
