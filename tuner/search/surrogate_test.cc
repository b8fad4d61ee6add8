#include "tuner/search/surrogate.h"

#include <gtest/gtest.h>

namespace redline::tuner {
namespace {

class SurrogateOf : public ::testing::Test {
 protected:
  void add(int batch, const std::string& layout, double rate) {
    TrialResult result;
    result.outcome = rate > 0 ? Outcome::kOk : Outcome::kGpuOom;
    if (rate > 0) result.throughput = Throughput{rate, rate, rate};
    history_.add({.id = 1, .config = config(batch, layout), .why = "", .result = result});
  }
  static Config config(int batch, const std::string& layout) {
    return {{"batch_size", std::to_string(batch)}, {"channels_last", layout}};
  }
  std::optional<Config> promising(double least_gain, double least_chance) {
    return most_promising(space_, history_, {least_gain, least_chance},
                          [](const Config&) { return true; });
  }

  Space space_ = *make_space({"batch_size=8,16,32,64,128", "channels_last=off,on"}, {"train"},
                             {.gpu = true, .cores = 8});
  History history_{space_};
};

TEST_F(SurrogateOf, MoreThanWhatFailedIsThoughtToFail) {
  add(16, "off", 100);
  add(64, "off", 0);
  const Feasibility feasibility(space_, history_);
  EXPECT_LE(feasibility.chance(config(128, "off")), 0.1);
  EXPECT_GE(feasibility.chance(config(8, "off")), 0.9);
  EXPECT_GT(feasibility.chance(config(128, "on")), feasibility.chance(config(128, "off")));
}

TEST_F(SurrogateOf, PutsTogetherWhatHelpedAlone) {
  add(16, "off", 100);
  add(16, "on", 130);
  add(64, "off", 180);
  EXPECT_EQ(promising(0.002, 0.4), config(64, "on"));
}

TEST_F(SurrogateOf, ProposesNothingThatIsNotWorthIt) {
  add(16, "off", 100);
  add(16, "on", 100);
  add(64, "off", 0);
  EXPECT_FALSE(promising(10, 0.4)) << "nobody gains tenfold";
  ASSERT_TRUE(promising(0, 0.9));
  EXPECT_EQ(promising(0, 0.9)->at("batch_size"), "8") << "the only ones that surely run";
}

}  // namespace
}  // namespace redline::tuner
