// Random search draws ranges evenly by their logarithm, those that begin below zero and choices
// evenly. Every other strategy must beat it.
#include <cmath>
#include <random>

#include "tuner/search/strategy.h"

namespace redline::tuner {
namespace {

constexpr int kDrawsUntilExhausted = 1000;

class RandomSearch final : public Strategy {
 public:
  RandomSearch(const Space& space, uint64_t seed) : space_(space), seed_(seed) {}

  std::optional<Proposal> ask(const History& history) const override {
    // The draws begin anew each time, so that the answer depends on nothing but the history.
    std::mt19937_64 generator(seed_);
    for (int draw = 0; draw < kDrawsUntilExhausted; ++draw) {
      const Config config = history.canonical(pick(generator));
      if (history.runs_of(config).empty()) return Proposal{config, "random"};
    }
    return std::nullopt;
  }

  std::string why_ended(const History&) const override {
    return "Every configuration that was drawn had been tried.";
  }
  std::string description() const override {
    return "random: each trial draws every knob anew, ranges on a logarithmic scale";
  }

 private:
  Config pick(std::mt19937_64& generator) const {
    Config config;
    for (const Knob& knob : space_.knobs) {
      if (!knob.is_range()) {
        config[knob.name] = knob.values[generator() % knob.values.size()];
        continue;
      }
      // This does not use std::uniform_real_distribution, which differs between standard libraries.
      const double unit = static_cast<double>(generator() >> 11) * 0x1.0p-53;
      const bool has_log = knob.low >= 0;
      // +1 keeps ranges that begin at zero finite.
      const auto place = [has_log](int64_t value) {
        return has_log ? std::log(static_cast<double>(value) + 1) : static_cast<double>(value);
      };
      const double drawn = place(knob.low) + unit * (place(knob.high) - place(knob.low));
      config[knob.name] = std::to_string(knob.nearest(has_log ? std::exp(drawn) - 1 : drawn));
    }
    return config;
  }

  const Space& space_;
  uint64_t seed_;
};

}  // namespace

std::unique_ptr<Strategy> make_random(const Space& space, uint64_t seed) {
  return std::make_unique<RandomSearch>(space, seed);
}

}  // namespace redline::tuner
