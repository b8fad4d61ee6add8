// Predicts how long a trial takes, so that an expensive one must be worth its time.
//
// A trial takes the time of its start-up, which some values of knobs make longer (compile, many
// workers), and that of its steps. The hook measures for a fixed time, but at least a number of
// steps; a command with --metric takes as many steps or samples as it likes. So the time is fitted
// to the trials so far as a sum of a constant, the time of a step and that of a sample.
#pragma once

#include <vector>

#include "tuner/search/fit.h"
#include "tuner/search/history.h"

namespace redline::tuner {

class TrialTime {
 public:
  /// `space` must outlive the model.
  TrialTime(const Space& space, const History& history);

  /// How long a trial would take at this rate, relative to the usual trial; 1 before any has run.
  [[nodiscard]] double relative(const Config& effective, double rate) const;
  [[nodiscard]] std::chrono::nanoseconds usual() const { return usual_; }

 private:
  [[nodiscard]] std::vector<double> features(const Config& effective, double rate) const;

  const Space& space_;
  std::chrono::nanoseconds usual_{0};
  double usual_step_ = 1, usual_sample_ = 1;
  std::vector<double> parts_;  ///< of the time, relative to the usual time, by feature
};

}  // namespace redline::tuner
