// A model of the training step with few, physical parameters, fitted to all trials so far.
//
// A step takes as long as the slower of two parts. Compute takes the time of its kernel launches,
// which is the same for every batch, or the time of its samples, whichever is longer. Each switch
// and each precision changes the time of a sample by a factor. The loader delivers a number of
// samples per second and worker, up to the number of cores.
//
// So a trial in which the loader was slower says little about precision. The model shows this: its
// plausible fits (see fit.h) differ there. Decision trees and Gaussian processes alone were
// rejected, because they assume that what a trial showed under one bottleneck holds under another.
// A Gaussian process covers only what the parts leave unexplained, such as the effect of knobs that
// the model does not know.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "tuner/search/fit.h"
#include "tuner/search/full_memory.h"
#include "tuner/search/gaussian_process.h"
#include "tuner/search/memory_model.h"
#include "tuner/search/strategy.h"

namespace redline::tuner {

/// A configuration as the model sees it.
struct Place {
  double batch = 1;
  std::optional<double> workers;  ///< nullopt if nobody knows of a loader
  bool reduced = false;           ///< bf16 or fp16, which are slow with odd batch sizes
  bool is_full = false;           ///< memory is expected to be nearly full, which slows a step
  bool may_be_full = false;       ///< whether memory may be nearly full, see full_memory.h
  bool alone = false;             ///< without trials beside it, in a search that runs some so
  /// The parameters that change the speed of this configuration, and by how much each counts.
  std::vector<std::pair<size_t, double>> factors;
  Point point;  ///< the same configuration for the Gaussian process
};

/// What the parts of a step allow, in samples per second.
struct StepParts {
  double rate = 0;        ///< of the whole step
  double compute = 0;     ///< if the loader took no time
  double loader = 0;      ///< if compute took no time; HUGE_VAL if no loader is known
  double wait_share = 0;  ///< share of the step that compute waits for the loader, 0..1
};

class StepModel {
 public:
  /// `history` must hold a trial that is ok (asserted). All arguments must outlive the model.
  StepModel(const Space& space, const SearchSettings& settings, const History& history,
            const MemoryModel& memory);

  /// How many plausible fits there are.
  [[nodiscard]] size_t members() const { return members_.size(); }
  /// If trials ran side by side, it is the place of another such trial, unless it runs `alone`.
  [[nodiscard]] Place place(const Config& config, bool alone = false) const;
  /// What one of the plausible fits predicts, without what the parts leave unexplained.
  [[nodiscard]] StepParts parts(size_t member, const Place& place) const;
  /// What the likeliest fit predicts.
  [[nodiscard]] StepParts parts(const Place& place) const;

  /// The logarithm of the rate that each plausible fit predicts, corrected by what trials nearby
  /// showed beyond the parts.
  [[nodiscard]] std::vector<double> log_rates(const Place& place) const;
  /// Standard deviation of the logarithm of the rate that the parts leave unexplained there.
  [[nodiscard]] double unexplained(const Place& place) const;
  /// Relative standard deviation between runs of the same configuration.
  [[nodiscard]] double noise() const { return noise_; }

 private:
  struct Observation {
    Place place;
    double log_rate;
    double error;
    std::optional<double> wait_share;
  };
  /// The parameters that every model has. Those of the knobs follow them.
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
    kFull,
    kFixedCount
  };
  struct Member {
    Fit fit;
    bool memory_full = false;  ///< takes the suspicion of full_memory.h for true
  };
  /// Whether the parameter changes what predict() says of that place.
  [[nodiscard]] bool depends_on(const Place& place, size_t parameter) const;
  void set_priors();
  void add_choice(const Knob& knob);
  void add_number(const Knob& knob);
  void measure_noise();
  void suspect_full_memory();
  void observe();
  void fit();
  void fit_likeliest();
  void fit_members();
  [[nodiscard]] StepParts predict(const std::vector<double>& parameters, bool memory_full,
                                  const Place& place) const;
  [[nodiscard]] StepParts predict(const Member& member, const Place& place) const {
    return predict(member.fit.parameters, member.memory_full, place);
  }
  /// `shifted`: a draw of what is plausible, not the best fit.
  [[nodiscard]] Member fit_member(uint64_t number, bool shifted, bool memory_full) const;

  const Space& space_;
  const SearchSettings& settings_;
  const History& history_;
  const MemoryModel& memory_;
  std::vector<Prior> priors_;
  struct KnobTerms {
    size_t first = 0;    ///< parameter of the first value, or of a number's slope; 0: none
    size_t reduced = 0;  ///< parameter that bf16 and fp16 share; 0: the knob is not amp
    double reference = 0, span = 1;  ///< a number's default and range, as orders of magnitude
  };
  std::vector<KnobTerms> terms_;           ///< one for each knob of the space
  std::optional<size_t> layout_with_amp_;  ///< parameter of channels_last together with amp
  std::optional<size_t> alone_;            ///< of how much faster a step is without neighbours
  std::vector<Observation> observations_;
  double noise_ = 0.02;
  FullMemory full_memory_;
  Member likeliest_;
  std::vector<Member> members_;
  std::optional<GaussianProcess> rest_;  ///< what the likeliest fit leaves unexplained
};

}  // namespace redline::tuner
