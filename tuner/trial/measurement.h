// Turns the ranks' step reports into end-to-end samples per second with an interval, and says when
// enough was measured.
//
// End to end means the samples of all ranks together over wall time. Everything between two steps
// counts (waits for the loader, logging), except evaluations: how many of them fall into a short
// trial is chance. All reports are on one clock (CLOCK_MONOTONIC of one machine), and between two
// reports a rank's totals are interpolated, so ranks need not run in lockstep. The sum of forward
// and backward times was rejected as a measure: a configuration that starves the GPU looks good by
// it.
//
// Warm-up is cut by MSER (White 1997): of all cuts in the first half, the one after which the mean
// has the smallest standard error. A fixed number of steps was rejected, because compilation and
// cuDNN's benchmarks take one step or fifty. The interval is Student's t over the means of equal
// blocks of steps, since neighbouring steps are not independent.
//
// Where nothing trains, a step is a batch of inference. A script that may train later (by its code)
// is only judged at its end, or at the trial's.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/statistics.h"
#include "tuner/trial/report_channel.h"
#include "tuner/trial/trial.h"

namespace redline::tuner {

class Measurement {
 public:
  struct Plan {
    std::chrono::nanoseconds measure_for = std::chrono::seconds(10);  ///< after warm-up
    int64_t min_steps = 10;                                           ///< that a result needs
    double enough = 0.01;         ///< relative half-width of the interval that ends it earlier
    double least_of_time = 0.25;  ///< the share of measure_for that must pass before an early end
    double rate_to_beat = 0;      ///< samples/s; 0: none
    /// Whether the command infers or trains, where another trial has shown it. A training is then
    /// never taken for what it evaluates before it begins.
    std::optional<bool> infers = std::nullopt;
  };

  explicit Measurement(const Plan& plan) : plan_(plan) {}

  void add(const StepReport& report);

  /// Steps that every rank has made; 0 until every rank has reported.
  [[nodiscard]] int64_t steps() const;
  [[nodiscard]] int world_size() const { return world_size_; }

  /// Time of the first and of the latest report of any rank (CLOCK_MONOTONIC), 0 before.
  [[nodiscard]] int64_t first_ns() const { return first_ns_; }
  [[nodiscard]] int64_t latest_ns() const { return latest_ns_; }

  /// Median time between two steps of a rank, 0 before there are two.
  [[nodiscard]] int64_t median_step_ns() const;

  /// Median of the samples that all ranks together take in a step, 0 before there are two reports.
  [[nodiscard]] int64_t median_step_samples() const;

  /// The share of the time between a rank's first and last report in which its training loop waited
  /// for data, over all ranks; nothing where no rank told it.
  [[nodiscard]] std::optional<double> data_wait_share() const;

  /// How long the sequences are on average; nothing where some rank does not know it.
  [[nodiscard]] std::optional<double> tokens_per_sample() const;

  /// So far a step is a batch of inference.
  [[nodiscard]] bool infers() const { return is_inference_; }

  /// Of batches after warm-up, over all ranks; nothing where the job trains.
  [[nodiscard]] std::optional<Latency> latency(int64_t least_steps) const;

  /// What was measured after warm-up; nothing with fewer than `least_steps` steps after it, or
  /// where no sample was counted.
  [[nodiscard]] std::optional<Throughput> estimate(int64_t least_steps) const;
  [[nodiscard]] std::optional<Throughput> estimate() const { return estimate(plan_.min_steps); }

  /// The times (CLOCK_MONOTONIC) that the estimate is of, without those in which a rank evaluated.
  struct Window {
    struct Span {
      int64_t begin_ns;
      int64_t end_ns;
    };
    std::vector<Span> spans;  ///< in order, apart from each other
    double samples = 0;

    [[nodiscard]] double seconds() const;
  };
  [[nodiscard]] std::optional<Window> window(int64_t least_steps) const;

  /// Enough was measured: min_steps, and measure_for is over or the interval is narrow.
  [[nodiscard]] bool complete() const;

  /// The rate is surely below rate_to_beat. This is asked many times during a trial, and one of
  /// many looks differs by chance; so the interval is widened by half.
  [[nodiscard]] bool behind() const;

  /// By how much, as a share, the second half of what was measured was faster than the first; 0
  /// where the difference may be chance.
  [[nodiscard]] double drift() const;

 private:
  struct Point {
    int64_t time_ns;
    int64_t steps;
    double samples;
    int64_t evaluation_ns = 0;
    std::optional<int64_t> data_wait_ns = std::nullopt;
    std::optional<int64_t> tokens = std::nullopt;
    std::vector<int64_t> batches_ns = {};
  };
  using Series = std::vector<Point>;
  struct Steady;

  [[nodiscard]] static Point totals_at(int64_t time_ns, const Series& series, size_t& right);
  template <typename Value>
  [[nodiscard]] int64_t median(Value of) const;
  [[nodiscard]] Series combined() const;
  [[nodiscard]] static Window trained(const Series& all, size_t first);
  [[nodiscard]] std::optional<Steady> steady(int64_t least_steps) const;

  Plan plan_;
  std::map<int, Series> ranks_;
  int world_size_ = 1;
  int64_t first_ns_ = 0;
  int64_t latest_ns_ = 0;
  bool is_inference_ = false;  // so far
  bool is_undecided_ = false;  // the inference may be an evaluation before a training
};

/// The factor of a two-sided 95 % interval with `degrees` degrees of freedom (Student's t).
[[nodiscard]] double student_t95(int64_t degrees);

}  // namespace redline::tuner
