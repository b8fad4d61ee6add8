#include "tuner/search/strategy.h"

namespace redline::tuner {

std::unique_ptr<Strategy> make_strategy(const std::string& name, const Space& space,
                                        const SearchSettings& settings) {
  if (name == "model") return make_model(space, settings);
  if (name == "coordinate") return make_coordinate(space);
  if (name == "random") return make_random(space, settings.seed);
  if (name == "grid") return make_grid(space);
  return nullptr;
}

}  // namespace redline::tuner
