// Turns the ranks' step reports into end-to-end samples per second with an interval, and says when
// enough was measured.
//
// End to end means the samples of all ranks together over wall time. Everything between two steps
// counts (waits for the loader, logging), except evaluations, because it is chance how many of them
// fall into a short trial. All reports are on one clock (CLOCK_MONOTONIC of one machine), and
// between two reports a rank's totals are interpolated, so ranks need not run in lockstep. The sum
// of forward and backward times was rejected as a measure, because a configuration that starves the
// GPU looks good by it.
//
// Warm-up is cut by MSER (White 1997): of all cuts in the first half, the one after which the mean
// has the smallest standard error. A fixed number of steps was rejected, because compilation and
// cuDNN's benchmarks take one step or fifty. The interval is Student's t over the means of equal
// blocks of steps, since neighbouring steps are not independent.
//
// A loader's workers make batches ahead, above all while a slow first step runs. While the loop
// takes these, a job that its loader limits runs as fast as it computes. So they are warm-up, too,
// as far as the planned time allows.
//
// In a job that does not train, a step is a batch of inference. If the script's code shows that it
// may train later, this is only decided when the script or the trial ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/statistics.h"
#include "tuner/trial/report_channel.h"
#include "tuner/trial/trial_result.h"

namespace redline::tuner {

class Measurement {
 public:
  struct Plan {
    std::chrono::nanoseconds measure_for = std::chrono::seconds(10);  ///< after warm-up
    int64_t min_steps = 10;                                           ///< steps that a result needs
    /// Relative half-width of the interval at which measuring may end earlier.
    double enough = 0.01;
    double least_of_time = 0.25;  ///< share of measure_for that must pass before such an early end
    double rate_to_beat = 0;      ///< samples/s; 0: none
    /// Whether the command infers (true) or trains, if another trial has shown it. Then an
    /// evaluation before a training is never taken for inference.
    std::optional<bool> infers = std::nullopt;
  };

  explicit Measurement(const Plan& plan) : plan_(plan) {}

  void add(const StepReport& report);
  /// How many samples a batch of a rank's loader has. Until this is known, a step is a batch.
  void set_batch_size(int64_t samples) { batch_size_ = samples; }

  /// Steps that every rank has made; 0 until every rank has reported.
  [[nodiscard]] int64_t steps() const;
  [[nodiscard]] int world_size() const { return world_size_; }

  /// Times of the first and of the latest report of any rank (CLOCK_MONOTONIC); 0 before there is
  /// one.
  [[nodiscard]] int64_t first_ns() const { return first_ns_; }
  [[nodiscard]] int64_t latest_ns() const { return latest_ns_; }

  /// Median time between two steps of a rank; 0 before there are two.
  [[nodiscard]] int64_t median_step_ns() const;

  /// Median of the samples that all ranks together take in a step; 0 before there are two reports.
  /// Here and below, samples that several ranks read count once.
  [[nodiscard]] int64_t median_step_samples() const;

  /// The number of ranks, where those that read the same samples count as one.
  [[nodiscard]] int readers() const;

  /// The share of the time between a rank's first and last report in which its training loop waited
  /// for data, over all ranks; nullopt if no rank told it.
  [[nodiscard]] std::optional<double> data_wait_share() const;

  /// Mean length of a sequence, in tokens; nullopt if a rank does not know it.
  [[nodiscard]] std::optional<double> tokens_per_sample() const;

  /// Whether the steps so far are batches of inference.
  [[nodiscard]] bool infers() const { return is_inference_; }

  /// How long the batches of inference after warm-up took, over all ranks; nullopt if the job
  /// trains.
  [[nodiscard]] std::optional<Latency> latency(int64_t least_steps) const;

  /// What was measured after warm-up; nullopt if fewer than `least_steps` steps came after it or no
  /// sample was counted.
  [[nodiscard]] std::optional<Throughput> estimate(int64_t least_steps) const;
  [[nodiscard]] std::optional<Throughput> estimate() const { return estimate(plan_.min_steps); }

  /// The times (CLOCK_MONOTONIC) that the estimate covers, without those in which a rank evaluated.
  struct Window {
    struct Span {
      int64_t begin_ns;
      int64_t end_ns;
    };
    std::vector<Span> spans;  ///< in order, apart from each other
    double samples = 0;
    int64_t steps = 0;

    [[nodiscard]] double seconds() const;
  };
  [[nodiscard]] std::optional<Window> window(int64_t least_steps) const;

  /// Whether enough was measured: min_steps were seen, and measure_for is over or the interval is
  /// narrow.
  [[nodiscard]] bool complete() const;

  /// Whether the rate is surely below rate_to_beat. This is asked many times during a trial, and
  /// one of many answers may be wrong by chance; so the interval is widened by half.
  [[nodiscard]] bool behind() const;

  /// Whether the estimate covers batches that were made before its first step.
  [[nodiscard]] bool covers_batches_made_ahead(int64_t least_steps) const;

  /// By what share the second half of what was measured was faster than the first; 0 if the
  /// difference may be chance.
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
  [[nodiscard]] std::vector<double> shares() const;
  [[nodiscard]] double batches(const Point& from, const Point& to) const;
  [[nodiscard]] int64_t made_ahead_until_ns(int64_t stocks) const;
  [[nodiscard]] std::optional<size_t> past_stock(const Series& all) const;
  [[nodiscard]] static Window trained(const Series& all, size_t first);
  [[nodiscard]] std::optional<Steady> steady(int64_t least_steps) const;

  Plan plan_;
  std::map<int, Series> ranks_;
  std::map<int, std::string> digests_;  // by rank: StepReport::batches_digest
  std::map<int, int64_t> ahead_;        // by rank: StepReport::batches_ahead
  int64_t batch_size_ = 0;              // 0: unknown
  int world_size_ = 1;
  int64_t first_ns_ = 0;
  int64_t latest_ns_ = 0;
  bool is_inference_ = false;  // the steps so far are inference
  bool is_undecided_ = false;  // the inference may be an evaluation before a training
};

}  // namespace redline::tuner
