// Coordinate descent from the defaults: improves one knob after the other, until a round gains
// nothing.
#include "tuner/search/less_memory.h"
#include "tuner/search/strategy.h"
#include "tuner/search/walk.h"

namespace redline::tuner {
namespace {

constexpr int kMaxRounds = 5;

bool turn(Walk& walk, const Knob& knob) {
  if (knob.is_numeric()) return climb(walk, knob);
  for (const std::string& value : knob.values) {
    if (!walk.attempt(knob.name, value, knob.name)) return false;
  }
  return true;
}

class CoordinateDescent final : public Strategy {
 public:
  explicit CoordinateDescent(const Space& space) : space_(space) {}

  std::optional<Proposal> ask(const History& history) const override {
    Walk walk(space_, history);
    if (!find_what_runs(walk) || walk.best_rate() == 0) return walk.wanted();
    for (int round = 0; round < kMaxRounds; ++round) {
      const Config before = walk.best();
      for (const Knob& knob : space_.knobs) {
        if (!turn(walk, knob)) return walk.wanted();
      }
      if (walk.best() == before) break;
    }
    return std::nullopt;
  }

  std::string why_ended(const History&) const override {
    return "Turning each knob by itself gained nothing more.";
  }
  std::string description() const override {
    return "coordinate: one knob after the other from the defaults, until a round gains nothing";
  }

 private:
  const Space& space_;
};

}  // namespace

std::unique_ptr<Strategy> make_coordinate(const Space& space) {
  return std::make_unique<CoordinateDescent>(space);
}

}  // namespace redline::tuner
