// A model of the training step with few, physical parameters, fitted to all trials so far.
//
// A step waits for the slower of two pipes. Compute takes its launches or its samples, whichever is
// longer; each switch and precision makes the samples faster or slower by a factor, the launches
// stay. The loader gives so many samples a second and worker, up to the cores. So a trial in which
// the loader was slower says little of precision, and the model knows that it does not know: its
// sample of fits (see fit.h) differs there. Trees and Gaussian processes alone were rejected: they
// take what a trial showed under one bottleneck to hold under another. One of them (Gaussian) stays
// for what the parts leave unexplained, such as knobs that the model does not know.
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
  bool reduced = false;                            ///< precision: odd batches are slow then
  std::vector<std::pair<size_t, double>> factors;  ///< of parameters, and by how much each counts
  Point point;                                     ///< for what is left unexplained
};

/// The parts of a step, in samples a second where nothing else held it back.
struct StepParts {
  double rate = 0;
  double compute = 0;
  double loader = 0;      ///< HUGE_VAL where no loader is known
  double wait_share = 0;  ///< of the step, for the loader
};

class StepModel {
 public:
  /// `history` must hold a trial that is ok (asserted). All must outlive the model.
  StepModel(const Space& space, const SearchSettings& settings, const History& history);

  [[nodiscard]] size_t members() const { return members_.size(); }
  [[nodiscard]] Place place(const Config& config) const;
  /// By one of the plausible fits, without what the parts leave unexplained.
  [[nodiscard]] StepParts parts(size_t member, const Place& place) const;
  /// By the likeliest fit.
  [[nodiscard]] StepParts parts(const Place& place) const;

  /// Logarithms of the rate by every member, with what was unexplained nearby.
  [[nodiscard]] std::vector<double> log_rates(const Place& place) const;
  /// Standard deviation of what may be unexplained there.
  [[nodiscard]] double unexplained(const Place& place) const;
  /// Of one run against the next, relative.
  [[nodiscard]] double noise() const { return noise_; }

 private:
  struct Observation {
    Place place;
    double log_rate;
    double error;
    std::optional<double> wait_share;
  };
  /// What the parameters stand for beside those of knobs' values.
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
    size_t first = 0;  ///< parameter of the first value, or of a number's slope
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
