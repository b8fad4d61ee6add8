// For tests: a machine that answers at once, made from a seed, to replay whole searches on.
//
// Samples per second end to end = b / (GPU time and loader time, overlapped where there are
// workers), memory a + k b; some machines have slow AMP, bad channels_last, a cache that large
// batches overflow, or a loader that limits everything.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>

#include "tuner/trial/trial.h"

namespace redline::tuner {

class SyntheticMachine {
 public:
  static constexpr double kNoise = 0.015;

  explicit SyntheticMachine(uint64_t seed) : generator_(seed) {
    launch_s_ = log_between(3e-4, 2e-2);
    sample_s_ = log_between(1e-5, 3e-3);
    bf16_ = chance(0.15) ? between(0.4, 1.0) : between(1.0, 3.0);
    fp16_ = bf16_ * between(0.93, 1.07);
    layout_with_amp_ = between(0.9, 1.4);
    layout_ = between(0.75, 1.1);
    cudnn_ = between(0.97, 1.3);
    copy_s_ = sample_s_ * between(0.0, 0.3);
    pin_ = between(0.3, 0.9);
    loader_s_ = sample_s_ * log_between(0.2, 20);
    cores_ = static_cast<int>(between(4, 16));
    cache_batch_ = chance(0.25) ? log_between(64, 1024) : HUGE_VAL;
    limit_bytes_ = between(16, 80) * 0x1p30;
    fixed_bytes_ = between(0.5, 6) * 0x1p30;
    sample_bytes_ = (limit_bytes_ - fixed_bytes_) / log_between(100, 20000);
    amp_memory_ = between(0.55, 0.9);
    defaults_ = {{"batch_size", chance(0.5) ? "32" : "64"},
                 {"num_workers", chance(0.5) ? "0" : "2"},
                 {"amp", "off"},
                 {"cudnn_benchmark", "off"},
                 {"channels_last", "off"},
                 {"pin_memory", "off"}};
  }

  [[nodiscard]] int cores() const { return cores_; }
  [[nodiscard]] uint64_t limit_bytes() const { return static_cast<uint64_t>(limit_bytes_); }

  /// A configuration as numbers, for sweeps of millions.
  struct Point {
    double batch = 1;
    int workers = 0;
    int amp = 0;  ///< off, bf16, fp16
    bool cudnn = false, layout = false, pin = false;
  };
  [[nodiscard]] Point point(const Config& config) const {
    const std::string amp = value(config, "amp");
    return {.batch = std::stod(value(config, "batch_size")),
            .workers = std::stoi(value(config, "num_workers")),
            .amp = amp == "off"    ? 0
                   : amp == "bf16" ? 1
                                   : 2,
            .cudnn = value(config, "cudnn_benchmark") == "on",
            .layout = value(config, "channels_last") == "on",
            .pin = value(config, "pin_memory") == "on"};
  }

  [[nodiscard]] double peak_bytes(const Point& at) const {
    return fixed_bytes_ + sample_bytes_ * (at.amp == 0 ? 1.0 : amp_memory_) * at.batch;
  }

  /// Without noise; 0 where memory does not suffice.
  [[nodiscard]] double rate(const Point& at) const {
    const double peak = peak_bytes(at);
    if (peak > limit_bytes_) return 0;
    const double b = at.batch;
    double speed = at.amp == 0 ? 1.0 : at.amp == 1 ? bf16_ : fp16_;
    if (at.layout) speed *= at.amp == 0 ? layout_ : layout_with_amp_;
    if (at.cudnn) speed *= cudnn_;
    double gpu = std::max(launch_s_, sample_s_ * b / speed) + 0.1 * launch_s_;
    gpu *= 1 + 0.1 * std::max(0.0, std::log2(b / cache_batch_));
    gpu += copy_s_ * b * (at.pin ? pin_ : 1.0);
    if (peak > 0.97 * limit_bytes_) gpu *= 1.25;
    const double crowd = 1 + 0.03 * std::max(0, at.workers - cores_);
    const double loader = loader_s_ * b / std::clamp(at.workers, 1, cores_) * crowd;
    return b /
           (at.workers == 0 ? gpu + loader : std::max(gpu, loader) + 0.05 * std::min(gpu, loader));
  }
  [[nodiscard]] double rate(const Config& config) const { return rate(point(config)); }

  [[nodiscard]] TrialResult run(const Config& config) {
    TrialResult result;
    result.ranks = 1;
    result.observed = defaults_;
    for (const auto& [name, text] : config) result.observed[name] = text;
    result.wall = std::chrono::seconds(20);
    const double rate = this->rate(config);
    if (rate == 0) {
      result.outcome = Outcome::kGpuOom;
      result.message = "out of memory (rank 0)";
      return result;
    }
    const double seen = rate * (1 + kNoise * normal());
    result.outcome = Outcome::kOk;
    result.throughput = Throughput{.samples_per_s = seen, .low = seen * 0.99, .high = seen * 1.01};
    result.peak_memory_bytes = static_cast<uint64_t>(peak_bytes(point(config)));
    return result;
  }

  /// Best rate with a batch size up to `most_batch` and up to `most_workers`.
  [[nodiscard]] double best_rate(int most_batch, int most_workers) const {
    double best = 0;
    for (double batch = 1; batch <= most_batch; batch = std::ceil(batch * 1.01)) {
      for (int workers = 0; workers <= most_workers; ++workers) {
        for (int switches = 0; switches < 24; ++switches) {
          best = std::max(best, rate(Point{.batch = batch,
                                           .workers = workers,
                                           .amp = switches % 3,
                                           .cudnn = (switches / 3 & 1) != 0,
                                           .layout = (switches / 6 & 1) != 0,
                                           .pin = (switches / 12 & 1) != 0}));
        }
      }
    }
    return best;
  }

 private:
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
  std::mt19937_64 generator_;
  double launch_s_, sample_s_, bf16_, fp16_, layout_with_amp_, layout_, cudnn_, copy_s_, pin_,
      loader_s_;
  int cores_;
  double cache_batch_, limit_bytes_, fixed_bytes_, sample_bytes_, amp_memory_;
  Config defaults_;
};

}  // namespace redline::tuner
