// A machine made from a seed that answers a trial at once, so that tests and bench/replay.py can
// run thousands of searches.
//
// The machines do to a search what real ones do: loaders hide what compute gains, there are few or
// many cores, memory depends on precision, odd batch sizes are slow, switches help, harm or do
// nothing, rates have plateaus, large batches overflow a cache, one of several ranks is slow,
// starting takes up to a minute, runs differ, and the machine slowly gets slower. Even seeds are
// for looking at and for choosing constants; odd seeds are only for the table in bench/README.md.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tuner/trial/trial_result.h"

namespace redline::tuner {

/// What a trial reports: all that the start-up hook sees, or only the figure of --metric.
enum class Telling : uint8_t { kHook, kMetric };

class SyntheticMachine {
 public:
  static constexpr int kMostBatch = 1024;
  static constexpr int kMostWorkers = 16;
  static constexpr double kKeptOfSample = 0.03;

  explicit SyntheticMachine(uint64_t seed, Telling telling = Telling::kHook)
      : telling_(telling), generator_(seed) {
    draw_compute();
    draw_loader();
    draw_memory();
    noise_ = log_between(0.004, 0.03);
    drift_ = chance(0.3) ? between(-0.06, 0.04) : 0;
    start_up_s_ = log_between(3, 60);
    defaults_ = {{"batch_size", chance(0.5) ? "32" : "64"},
                 {"num_workers", chance(0.5) ? "0" : "2"},
                 {"amp", "off"},
                 {"cudnn_benchmark", "off"},
                 {"channels_last", "off"}};
    // Most scripts run with their defaults, so most defaults must fit in memory.
    while (batch_of(defaults_) > 4 && rate(defaults_) == 0 && chance(0.8)) {
      defaults_["batch_size"] = std::to_string(batch_of(defaults_) / 2);
    }
    defaults_["batch_size"] = std::to_string(batch_of(defaults_));
  }

  [[nodiscard]] static std::vector<std::string> knobs() {
    return {"batch_size=1.." + std::to_string(kMostBatch),
            "num_workers=0.." + std::to_string(kMostWorkers), "amp=off,bf16,fp16",
            "cudnn_benchmark=off,on", "channels_last=off,on"};
  }
  [[nodiscard]] int cores() const { return ranks_ * cores_; }
  [[nodiscard]] uint64_t limit_bytes() const { return static_cast<uint64_t>(limit_bytes_); }
  [[nodiscard]] const Config& defaults() const { return defaults_; }

  /// A configuration as numbers, so that best_rate() can try all of them in time.
  struct Point {
    double batch = 1;
    int workers = 0;
    int amp = 0;  ///< off, bf16, fp16
    bool cudnn = false, layout = false;
  };
  [[nodiscard]] Point point(const Config& config) const {
    const std::string amp = value(config, "amp");
    return {.batch = static_cast<double>(batch_of(config)),
            .workers = std::stoi(value(config, "num_workers")),
            .amp = amp == "off"    ? 0
                   : amp == "bf16" ? 1
                                   : 2,
            .cudnn = value(config, "cudnn_benchmark") == "on",
            .layout = value(config, "channels_last") == "on"};
  }

  [[nodiscard]] double peak_bytes(const Point& at) const {
    return fixed_bytes_ * (at.cudnn ? workspace_ : 1) +
           sample_bytes_ * (at.amp == 0 ? 1.0 : amp_memory_) * at.batch;
  }

  /// Samples per second of all ranks, without noise; 0 if the configuration does not fit in memory.
  [[nodiscard]] double rate(const Point& at) const {
    const double step = step_of(at).total;
    return step > 0 ? ranks_ * at.batch / step : 0;
  }
  [[nodiscard]] double rate(const Config& config) const { return rate(point(config)); }

  [[nodiscard]] TrialResult run(const Config& config) {
    TrialResult result;
    const Point at = point(config);
    const Step step = step_of(at);
    const double luck = std::exp(noise_ * normal() + drift_ * runs_ / 25.0);
    const bool disturbed = chance(0.02);
    ++runs_;
    const bool told = telling_ == Telling::kHook;
    result.wall = std::chrono::nanoseconds(
        std::llround(1e9 * (start_up_s_ + (step.total > 0 ? 10 + 10 * step.total : 0))));
    if (told) {
      result.ranks = result.readers = ranks_;
      result.observed = defaults_;
      for (const auto& [name, text] : config) result.observed[name] = text;
      result.memory_capacity_bytes = limit_bytes();
    }
    if (step.total == 0) {
      result.outcome = Outcome::kGpuOom;
      result.message = "out of memory";
      return result;
    }
    const double seen = rate(at) * luck * (disturbed ? 0.8 : 1);
    result.outcome = Outcome::kOk;
    const double half = told ? 0.01 * seen : 0;
    result.throughput = Throughput{.samples_per_s = seen, .low = seen - half, .high = seen + half};
    if (!told) return result;
    result.peak_memory_bytes = static_cast<uint64_t>(peak_bytes(at) * (1 + 0.003 * normal()));
    // Scripts keep inputs and outputs of their last step.
    result.resting_memory_bytes =
        static_cast<uint64_t>(fixed_bytes_ + kKeptOfSample * sample_bytes_ * at.batch);
    result.data_wait_share = std::clamp(step.waiting / step.total, 0.0, 1.0);
    if (disturbed) result.disturbance = "other programs used the processors";
    return result;
  }

  /// The highest rate() of all configurations of knobs().
  [[nodiscard]] double best_rate() const {
    double best = 0;
    for (int batch = 1; batch <= kMostBatch; ++batch) {
      for (int switches = 0; switches < 12; ++switches) {
        for (int workers = 0; workers <= kMostWorkers; ++workers) {
          best = std::max(best, rate(Point{.batch = static_cast<double>(batch),
                                           .workers = workers,
                                           .amp = switches % 3,
                                           .cudnn = (switches / 3 & 1) != 0,
                                           .layout = (switches / 6 & 1) != 0}));
        }
      }
    }
    return best;
  }

 private:
  struct Step {
    double total = 0;    ///< seconds; 0: out of memory
    double waiting = 0;  ///< seconds that compute waits for the loader
  };

  void draw_compute() {
    launch_s_ = log_between(3e-4, 2e-2);
    sample_s_ = log_between(1e-5, 3e-3);
    softness_ = between(1, 6);
    bf16_ = chance(0.2) ? between(0.4, 1.0) : between(1.0, 3.0);
    fp16_ = bf16_ * (chance(0.2) ? between(0.6, 1.9) : between(0.95, 1.05));
    amp_launch_ = between(1.0, 1.25);
    layout_ = chance(0.3) ? 1 : between(0.75, 1.1);
    layout_with_amp_ = chance(0.3) ? 1 : between(0.85, 1.4);
    cudnn_ = chance(0.3) ? 1 : between(0.95, 1.25);
    odd_batch_ = chance(0.7) ? between(0.6, 0.97) : 1;
    wave_ = chance(0.2) ? std::floor(between(4, 48)) : 1;
    cache_batch_ = chance(0.25) ? log_between(32, 600) : HUGE_VAL;
    decline_ = between(0.03, 0.15);
    ranks_ = chance(0.6) ? 1 : chance(0.6) ? 2 : 3;
    uneven_ = ranks_ > 1 && chance(0.5) ? between(1, 1.3) : 1;
    reduce_s_ = ranks_ > 1 ? launch_s_ * between(0, 0.5) : 0;
  }
  void draw_loader() {
    cores_ = chance(0.4) ? static_cast<int>(between(2, 6)) : static_cast<int>(between(6, 24));
    loader_s_ = sample_s_ * log_between(0.1, 20);
    crowd_ = between(0, 0.05);
    stolen_ = chance(0.25) ? between(0, 0.02) : 0;
    overlap_ = between(0, 0.1);
  }
  void draw_memory() {
    limit_bytes_ = between(8, 80) * 0x1p30;
    fixed_bytes_ = limit_bytes_ * between(0.02, 0.4);
    const double most = chance(0.35) ? log_between(12, 80) : log_between(80, 6000);
    sample_bytes_ = (limit_bytes_ - fixed_bytes_) / most;
    amp_memory_ = between(0.5, 1.05);
    workspace_ = chance(0.5) ? between(1, 1.1) : 1;
  }

  [[nodiscard]] Step step_of(const Point& at) const {
    const double peak = peak_bytes(at);
    if (peak > limit_bytes_) return {};
    double speed = at.amp == 0 ? 1.0 : at.amp == 1 ? bf16_ : fp16_;
    if (at.layout) speed *= at.amp == 0 ? layout_ : layout_with_amp_;
    if (at.cudnn) speed *= cudnn_;
    if (at.amp != 0 && std::fmod(at.batch, 8) != 0) speed *= odd_batch_;
    const double compute = sample_s_ * std::ceil(at.batch / wave_) * wave_ / speed;
    const double launch = launch_s_ * (at.amp == 0 ? 1.0 : amp_launch_);
    double gpu = launch > compute
                     ? launch * std::pow(1 + std::pow(compute / launch, softness_), 1 / softness_)
                     : compute * std::pow(1 + std::pow(launch / compute, softness_), 1 / softness_);
    if (at.batch > cache_batch_) gpu *= 1 + decline_ * std::log2(at.batch / cache_batch_);
    if (peak > 0.97 * limit_bytes_) gpu *= 1.25;
    gpu = gpu * uneven_ * (1 + stolen_ * at.workers) + reduce_s_;
    const double crowd = 1 + crowd_ * std::max(0, at.workers - cores_);
    const double loader = loader_s_ * at.batch / std::clamp(at.workers, 1, cores_) * crowd;
    if (at.workers == 0) return {gpu + loader, loader};
    return {std::max(gpu, loader) + overlap_ * std::min(gpu, loader), std::max(0.0, loader - gpu)};
  }

  double unit() { return static_cast<double>(generator_() >> 11) * 0x1.0p-53; }
  double between(double low, double high) { return low + unit() * (high - low); }
  double log_between(double low, double high) { return low * std::pow(high / low, unit()); }
  bool chance(double share) { return unit() < share; }
  double normal() {
    return std::sqrt(-2 * std::log(1 - unit())) * std::cos(2 * 3.14159265358979 * unit());
  }

  [[nodiscard]] std::string value(const Config& config, const std::string& name) const {
    const auto found = config.find(name);
    return found == config.end() ? defaults_.at(name) : found->second;
  }
  [[nodiscard]] int batch_of(const Config& config) const {
    return std::stoi(value(config, "batch_size"));
  }

  Telling telling_;
  std::mt19937_64 generator_;
  double launch_s_, sample_s_, softness_, bf16_, fp16_, amp_launch_, layout_, layout_with_amp_,
      cudnn_, odd_batch_, wave_, cache_batch_, decline_, uneven_, reduce_s_;
  double loader_s_, crowd_, stolen_, overlap_;
  double limit_bytes_, fixed_bytes_, sample_bytes_, amp_memory_, workspace_;
  double noise_, drift_, start_up_s_;
  int ranks_, cores_;
  int runs_ = 0;
  Config defaults_;
};

}  // namespace redline::tuner
