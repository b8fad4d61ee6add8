// A study file for tests, written as autotune writes it.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tuner/study/study.h"

namespace redline::viewer {

class TestStudy {
 public:
  /// A study with these values of --objective and --metric; one that is there already goes on.
  explicit TestStudy(const std::string& path, const std::string& objective = "",
                     const std::string& metric = "")
      : space_(*tuner::make_space({"batch_size=1..4096", "amp=off,bf16", "num_workers=0..8"},
                                  {"python", "train.py"}, {.gpu = true, .cores = 8})) {
    tuner::StudyIdentity identity;
    identity.command = {"python", "train.py"};
    identity.space = space_.signature();
    identity.objective = objective;
    identity.metric_regex = metric;
    auto study = tuner::Study::open(path, identity, /*resume=*/true);
    EXPECT_TRUE(study.has_value()) << study.error();
    if (study) study_.emplace(*std::move(study));
  }

  /// Adds a trial and returns its number. Without a rate it ran out of memory; with joules it is of
  /// a search for energy. Its rate's interval is `spread` to both sides.
  int64_t trial(const tuner::Config& config, std::optional<double> rate,
                const std::string& why = "batch", std::optional<double> joules_per_sample = {},
                const std::string& disturbance = "", double spread = 0.01) {
    tuner::TrialResult result;
    if (observes_) result.observed = {{"batch_size", "32"}, {"amp", "off"}, {"num_workers", "0"}};
    result.outcome = rate ? tuner::Outcome::kOk : tuner::Outcome::kGpuOom;
    if (rate)
      result.throughput = tuner::Throughput{*rate, (1 - spread) * *rate, (1 + spread) * *rate};
    if (joules_per_sample) {
      const double score = 1 / *joules_per_sample;
      result.joules_per_sample = joules_per_sample;
      result.samples_per_joule = tuner::Throughput{score, 0.9 * score, 1.1 * score};
    }
    if (rate) result.peak_memory_bytes = 3ull << 30;
    if (!rate) result.message = "out of memory (rank 1)";
    if (!rate) result.stderr_tail = "torch.OutOfMemoryError: CUDA out of memory.";
    result.disturbance = disturbance;
    result.steps = 50;
    result.step_samples = step_samples_;
    result.wall = std::chrono::seconds(12);
    const auto id = study_->start({.config = config, .why = why});
    EXPECT_TRUE(id && study_->finish(*id, result));
    return *id;
  }
  /// Trials from now on are of a command that the hook does not see.
  void observe_nothing() { observes_ = false; }
  /// Steps of trials from now on take so many samples of all ranks.
  void take_step_samples(int64_t samples) { step_samples_ = samples; }
  void start(const tuner::Config& config) {
    EXPECT_TRUE(study_->start({.config = config, .why = "batch"}));
  }
  /// Writes a trace into the folder of a trial.
  void add_trace(int64_t trial, const std::string& json) const {
    const std::filesystem::path folder(study_->trial_directory(trial));
    std::filesystem::create_directories(folder / "traces");
    std::ofstream(folder / "traces" / "rank0.pt.trace.json") << json;
  }

  /// Adds four trials: the default, a faster one, one that runs out of memory, and the best.
  void add_search() {
    trial({}, 1000, "default");
    trial({{"amp", "bf16"}, {"batch_size", "64"}}, 3000, "screen");
    trial({{"amp", "bf16"}, {"batch_size", "512"}}, std::nullopt, "frontier");
    trial({{"amp", "bf16"}, {"batch_size", "128"}, {"num_workers", "4"}}, 5000, "frontier");
  }

 private:
  tuner::Space space_;
  bool observes_ = true;
  int64_t step_samples_ = 0;
  std::optional<tuner::Study> study_;
};

}  // namespace redline::viewer
