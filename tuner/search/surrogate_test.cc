#include "tuner/search/surrogate.h"

#include <gtest/gtest.h>

#include <set>

#include "tuner/search/testing_history.h"

namespace redline::tuner {
namespace {

class SurrogateOf : public ::testing::Test {
 protected:
  void add(int batch, const std::string& layout, double rate) {
    add_trial(history_, config(batch, layout),
              rate > 0 ? ran_at(rate) : ended_with(Outcome::kGpuOom));
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

TEST_F(SurrogateOf, ANumberIsTriedNearTheBestAndOneValueBesideIt) {
  const auto tried = [this](const char* knob) {
    space_ = *make_space({knob}, {"train"}, {.gpu = true, .cores = 8});
    history_ = History(space_);
    add_trial(history_, {{"batch_size", "64"}}, ran_at(100));
    std::set<int64_t> values;
    (void)most_promising(space_, history_, {0, 0}, [&](const Config& config) {
      values.insert(*parse_integer(config.at("batch_size")));
      return false;
    });
    return values;
  };
  EXPECT_EQ(tried("batch_size=1,8,64,512,4096"), (std::set<int64_t>{8, 512}));
  EXPECT_EQ(tried("batch_size=8,15,16,64,256,257"), (std::set<int64_t>{16, 256}));
  EXPECT_EQ(tried("batch_size=59..64"), (std::set<int64_t>{59, 60, 61, 62, 63}));
  EXPECT_EQ(tried("batch_size=48..64"), (std::set<int64_t>{48, 56}))
      << "a quarter more, in multiples of eight";
}

TEST_F(SurrogateOf, AWideRangeBelowZeroHasFewValues) {
  space_ = *make_space({"x=-1000000..0"}, {"train", "{x}"}, {});
  history_ = History(space_);
  add_trial(history_, {{"x", "-1000000"}}, ran_at(100));
  int tried = 0;
  (void)most_promising(space_, history_, {0, 0}, [&tried](const Config&) { return ++tried < 0; });
  EXPECT_GT(tried, 10);
  EXPECT_LT(tried, 1000);
}

}  // namespace
}  // namespace redline::tuner
