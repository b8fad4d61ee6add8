// The staged search: it knows the shape of this space, so it needs few trials.
//
//   guess     what nearly always helps on such a machine, all at once
//   batch     along the memory line to the frontier, and back to the peak where it lies before
//   workers   until the loader no longer limits; then the batch again, while one of them moved:
//             a slow loader hides what a larger batch gains
//   screen    the other values of precision, layout and switches, one by one, at that batch: a
//             small one hides what they gain; then batch and workers again where one of them won
//   explore   with what trials are left: neighbours of the fastest, by what a model of all trials
//             expects of them
#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "tuner/search/batch_stage.h"
#include "tuner/search/frontier.h"
#include "tuner/search/strategy.h"
#include "tuner/search/surrogate.h"
#include "tuner/search/walk.h"
#include "tuner/space/hook_knobs.h"

namespace redline::tuner {
namespace {

constexpr int kMostRounds = 3;
constexpr double kWorthAnotherStep = 0.01;
constexpr double kWorthATrial = 0.002;  ///< expected gain
constexpr int64_t kFewFailures = 2;
constexpr double kHarmless = 0.97;
constexpr double kClearlyWorse = 0.85;   ///< of the incumbent: not tried again
constexpr double kLoaderKeepsUp = 0.03;  ///< share of time waited for data

/// Screened in this order: what a report advises, then what changes most.
int rank_of(const Knob& knob, const Space& space) {
  const auto advised = std::find(space.advised.begin(), space.advised.end(), knob.name);
  if (advised != space.advised.end()) return static_cast<int>(advised - space.advised.end());
  static constexpr std::array<std::string_view, 4> kOrder = {"amp", "channels_last", "compile",
                                                             "cudnn_benchmark"};
  return static_cast<int>(std::find(kOrder.begin(), kOrder.end(), knob.name) - kOrder.begin());
}

class StagedWalk {
 public:
  StagedWalk(const Space& space, const SearchSettings& settings, const History& history)
      : settings_(settings),
        walk_(space, history),
        batch_(space.find("batch_size")),
        workers_(space.find("num_workers")) {
    if (batch_ && !batch_->is_numeric()) batch_ = nullptr;
    if (workers_ && !workers_->is_numeric()) workers_ = nullptr;
    if (batch_) batch_stage_.emplace(walk_, *batch_, settings_);
    for (const Knob& knob : space.knobs) {
      if (&knob == batch_ || &knob == workers_) continue;
      (knob.is_numeric() ? numbers_ : switches_).push_back(&knob);
    }
    std::stable_sort(switches_.begin(), switches_.end(), [&](const Knob* a, const Knob* b) {
      return rank_of(*a, space) < rank_of(*b, space);
    });
  }

  std::optional<Proposal> next() {
    walk();
    return walk_.wanted();
  }

 private:
  // Each stage returns false where a trial is wanted first.

  bool walk() {
    if (!find_something_that_runs() || !guess() || !size()) return false;
    for (int round = 0; round < kMostRounds; ++round) {
      const Config before = walk_.best();
      if (!screen()) return false;
      if (walk_.best() == before) break;
      if (!size()) return false;
    }
    return explore();
  }

  bool explore() {
    if (!walk_.best_works()) return true;
    const auto next = most_promising(walk_.space(), walk_.history(), {kWorthATrial, least_chance()},
                                     [&](const Config& config) { return may_fit(config); });
    return !next || walk_.measure(*next, "explore").has_value();
  }

  /// Each trial that runs out of memory costs one, so the more there were the surer the next.
  double least_chance() const {
    const int64_t failures = walk_.history().out_of_memory_count();
    if (failures < kFewFailures) return 0.4;
    return failures == kFewFailures ? 0.75 : 0.9;
  }

  bool is_risky(const Config& config) const {
    if (!walk_.history().runs_of(config).empty()) return false;
    return Feasibility(walk_.space(), walk_.history()).chance(config) < least_chance();
  }

  bool may_fit(const Config& config) const {
    const Config all = walk_.history().effective(config);
    const auto own = batch_ ? all.find(batch_->name) : all.end();
    const auto size = own == all.end() ? std::nullopt : parse_integer(own->second);
    if (!size) return true;
    const auto batch = static_cast<double>(*size);
    const Frontier frontier = find_frontier(walk_.history(), config);
    if (frontier.smallest_failed && *size >= *frontier.smallest_failed) return false;
    const std::optional<uint64_t> limit = batch_stage_->memory_limit();
    const bool fits = !frontier.line || !limit || batch <= frontier.line->batch_within(*limit, 1);
    return fits && batch <= batch_stage_->affordable();
  }

  /// The defaults may already need too much memory.
  bool find_something_that_runs() {
    while (!walk_.best_works() && batch_) {
      const Frontier frontier = find_frontier(walk_.history(), walk_.best());
      if (!frontier.smallest_failed) return true;
      const int64_t smaller = batch_->nearest(static_cast<double>(*frontier.smallest_failed) / 4);
      if (smaller >= *frontier.smallest_failed) return true;
      if (!walk_.attempt(batch_->name, std::to_string(smaller), "smaller batch")) return false;
    }
    return true;
  }

  bool guess() {
    const Config before = walk_.best();
    if (!try_guess(guessed_config(true), "good guess")) return false;
    // Some machines have no fast reduced precision: the rest of the guess may still be good.
    if (walk_.best() == before) return try_guess(guessed_config(false), "guess without amp");
    return true;
  }

  /// Small batches hide what the guess is good for, so it stays unless it clearly harms.
  bool try_guess(const Config& config, const std::string& why) {
    const std::optional<double> rate = walk_.measure(config, why);
    if (!rate) return false;
    if (*rate > kHarmless * walk_.best_rate()) walk_.adopt(config, *rate);
    return true;
  }

  Config guessed_config(bool with_amp) const {
    Config config = walk_.best();
    if (settings_.machine.gpu) {
      for (const Knob* knob : switches_) {
        const HookKnob* hook = find_hook_knob(knob->name);
        if (hook && hook->usually_helps && knob->contains("on")) config[knob->name] = "on";
        if (knob->name == "amp" && with_amp && walk_.value(*knob).value_or("off") == "off") {
          if (knob->contains("bf16")) config["amp"] = "bf16";
        }
      }
    }
    if (workers_) {
      const int64_t usual = generous_workers();
      if (walk_.number(*workers_, 0) < usual) config[workers_->name] = std::to_string(usual);
    }
    return config;
  }

  /// Enough to feed a rank without taking cores from the others.
  int64_t generous_workers() const {
    const int ranks = std::max(1, walk_.history().trials().front().result.ranks);
    return workers_->nearest(std::max(1, settings_.machine.cores / ranks));
  }

  bool screen() {
    for (const Knob* knob : switches_) {
      for (const std::string& value : knob->values) {
        if (walk_.value(*knob) == value || is_hopeless(knob, value)) continue;
        const double before = walk_.best_rate();
        const Config config = walk_.with(knob->name, value);
        if (!walk_.attempt(config, knob->name)) return false;
        const double rate = walk_.measure(config, knob->name).value_or(0);
        if (rate == 0 && !screen_smaller(config, knob->name)) return false;
        if (rate > 0 && rate < kClearlyWorse * before) hopeless_.emplace_back(knob, value);
      }
    }
    return true;
  }

  /// A value that needs more memory may still win with half the batch.
  bool screen_smaller(Config config, const std::string& why) {
    const auto runs = walk_.history().runs_of(config);
    if (!batch_ || runs.empty() || !runs.front()->out_of_memory()) return true;

    const int64_t batch = walk_.number(*batch_, kUsualBatch);
    config[batch_->name] = std::to_string(batch_->nearest(static_cast<double>(batch) / 2));
    if (is_risky(config)) return true;
    return walk_.attempt(config, why + ", half batch");
  }

  bool is_hopeless(const Knob* knob, const std::string& value) const {
    return std::any_of(hopeless_.begin(), hopeless_.end(), [&](const auto& entry) {
      return entry.first == knob && entry.second == value;
    });
  }

  bool size() {
    for (int round = 0; round < kMostRounds; ++round) {
      const Config before = walk_.best();
      if ((batch_stage_ && !batch_stage_->run()) || !workers()) return false;
      for (const Knob* knob : numbers_) {
        if (!climb_with_room(*knob, knob->low)) return false;
      }
      if (walk_.best() == before) return true;
    }
    return true;
  }

  bool workers() {
    if (!workers_ || loader_keeps_up()) return true;
    return climb_with_room(*workers_, 0);
  }

  /// More workers or threads need more memory: at the frontier they may only want a smaller batch.
  bool climb_with_room(const Knob& knob, int64_t otherwise) {
    const Config up = walk_.with(knob.name, std::to_string(next_up(walk_, knob, otherwise)));
    if (is_risky(up)) return true;
    if (!climb(walk_, knob, otherwise, kWorthAnotherStep)) return false;
    const int64_t next = next_up(walk_, knob, otherwise);
    return next == walk_.number(knob, otherwise) ||
           screen_smaller(walk_.with(knob.name, std::to_string(next)), knob.name);
  }

  /// On a GPU machine idle workers cost nothing; on a CPU they take cores from the training.
  bool loader_keeps_up() const {
    const auto runs = walk_.history().runs_of(walk_.best());
    return settings_.machine.gpu && !runs.empty() && runs.front()->result.data_wait_share &&
           *runs.front()->result.data_wait_share < kLoaderKeepsUp;
  }

  const SearchSettings& settings_;
  Walk walk_;
  const Knob* batch_;
  const Knob* workers_;
  std::optional<BatchStage> batch_stage_;
  std::vector<const Knob*> switches_;
  std::vector<const Knob*> numbers_;
  std::vector<std::pair<const Knob*, std::string>> hopeless_;
};

class StagedSearch final : public Strategy {
 public:
  StagedSearch(const Space& space, const SearchSettings& settings)
      : space_(space), settings_(settings) {}

  std::optional<Proposal> ask(const History& history) const override {
    return StagedWalk(space_, settings_, history).next();
  }

  std::string description() const override {
    return "staged: a good guess, batch size up to the memory limit, workers, batch size again if "
           "the workers changed, then precision, layout and switches one by one, then where a "
           "model of all trials expects the most";
  }

 private:
  const Space& space_;
  SearchSettings settings_;
};

}  // namespace

std::unique_ptr<Strategy> make_staged(const Space& space, const SearchSettings& settings) {
  return std::make_unique<StagedSearch>(space, settings);
}

}  // namespace redline::tuner
