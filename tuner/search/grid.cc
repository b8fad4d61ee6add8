// Grid search tries every combination. Of a range it takes the ends and the powers of two between
// them.

#include "tuner/search/strategy.h"

namespace redline::tuner {
namespace {

std::vector<std::string> grid_values(const Knob& knob) {
  if (!knob.is_range()) return knob.values;
  std::vector<std::string> values = {std::to_string(knob.low)};
  for (int64_t power = 1; power < knob.high && power > 0; power *= 2) {
    if (power > knob.low) values.push_back(std::to_string(power));
  }
  if (knob.high > knob.low) values.push_back(std::to_string(knob.high));
  return values;
}

class GridSearch final : public Strategy {
 public:
  explicit GridSearch(const Space& space) : space_(space) {}

  std::optional<Proposal> ask(const History& history) const override {
    std::vector<std::vector<std::string>> axes;
    for (const Knob& knob : space_.knobs) axes.push_back(grid_values(knob));
    std::vector<size_t> at(axes.size(), 0);
    do {
      Config config;
      for (size_t i = 0; i < axes.size(); ++i) config[space_.knobs[i].name] = axes[i][at[i]];
      config = history.canonical(config);
      if (history.runs_of(config).empty()) return Proposal{config, "grid"};
    } while (advance(at, axes));
    return std::nullopt;
  }

  std::string why_ended(const History&) const override {
    return "Every configuration of the grid was tried.";
  }
  std::string description() const override {
    return "grid: every combination, ranges at their ends and the powers of two between";
  }

 private:
  static bool advance(std::vector<size_t>& at, const std::vector<std::vector<std::string>>& axes) {
    for (size_t i = axes.size(); i-- > 0;) {
      if (++at[i] < axes[i].size()) return true;
      at[i] = 0;
    }
    return false;
  }

  const Space& space_;
};

}  // namespace

std::unique_ptr<Strategy> make_grid(const Space& space) {
  return std::make_unique<GridSearch>(space);
}

}  // namespace redline::tuner
