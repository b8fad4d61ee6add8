// Nothing is tried that the user did not ask for, also where the script's own values, which may be
// the best, lie outside of what was asked for.
#include <gtest/gtest.h>

#include "tuner/search/plan.h"
#include "tuner/search/testing_history.h"
#include "tuner/search/testing_machine.h"

namespace redline::tuner {
namespace {

/// Searches on a machine whose script has a batch size of 32 or 64, 0 or 2 workers, and no amp.
void expect_asked_values(const std::string& strategy, const std::vector<std::string>& knobs,
                         uint64_t seed) {
  SyntheticMachine machine(seed);
  const SearchSettings settings{
      .machine = {.gpu = true, .gpus = 1, .cores = machine.cores()},
      .memory_limit_bytes = {},
      .seed = seed,
  };
  const Space space = *make_space(knobs, {"python", "train.py"}, settings.machine);
  const auto search = make_strategy(strategy, space, settings);
  const Plan plan(space, *search, {.time = std::chrono::hours(10), .max_trials = 25});
  History history(space);
  while (const auto proposal = plan.next(history)) {
    for (const auto& [name, value] : proposal->config) {
      ASSERT_TRUE(space.find(name)->contains(value))
          << strategy << " tried " << name << " " << value << ": " << proposal->why;
    }
    Config whole = machine.defaults();
    for (const auto& [name, value] : proposal->config) whole[name] = value;
    history.add({.id = std::ssize(history.trials()) + 1,
                 .config = proposal->config,
                 .why = proposal->why,
                 .result = machine.run(whole)});
  }
  // A machine whose script fails may have nothing in the range that could run.
  EXPECT_TRUE(history.trials().size() > 3 || !history.trials().front().ok());
}

TEST(AskedValues, AreAllThatIsTried) {
  for (const char* strategy : {"model", "coordinate", "random", "grid"}) {
    for (uint64_t seed = 0; seed < 24; seed += 2) {
      expect_asked_values(strategy, {"batch_size=80..200", "num_workers=3..7"}, seed);
      expect_asked_values(strategy, {"batch_size=1..20", "amp=bf16,fp16"}, seed);
      expect_asked_values(strategy, {"batch_size=96,128,160", "num_workers=1,3"}, seed);
    }
  }
}

TEST(AskedValues, OfARangeBelowZeroAreDrawnFromAllOfIt) {
  const Space space = *make_space({"shift=-5..5"}, {"train", "{shift}"}, {});
  const auto search = make_strategy("random", space, {});
  History history(space);
  for (int trial = 0; trial < 11; ++trial) {
    const auto proposal = search->ask(history);
    ASSERT_TRUE(proposal) << "after " << trial << " of 11 values";
    ASSERT_TRUE(space.find("shift")->contains(proposal->config.at("shift")));
    add_trial(history, proposal->config, ran_at(1), "random");
  }
}

}  // namespace
}  // namespace redline::tuner
