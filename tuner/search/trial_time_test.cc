#include "tuner/search/trial_time.h"

#include <gtest/gtest.h>

#include "tuner/search/testing_history.h"

namespace redline::tuner {
namespace {

class TrialTimeOf : public ::testing::Test {
 protected:
  void add(const Config& config, double rate, double seconds) {
    TrialResult result = ran_at(rate);
    result.wall = std::chrono::nanoseconds(static_cast<int64_t>(1e9 * seconds));
    add_trial(history_, config, result);
  }
  [[nodiscard]] double relative(const Config& config, double rate) const {
    return TrialTime(space_, history_).relative(config, rate);
  }
  static Config config(const std::string& batch, const std::string& compile) {
    return {{"batch_size", batch}, {"compile", compile}};
  }

  Space space_ = *make_space({"batch_size=1..4096", "compile=off,on"},
                             {"train", "{batch_size}{compile}"}, {.gpu = true, .cores = 8});
  History history_{space_};
};

TEST_F(TrialTimeOf, AValueWhoseTrialStartedSlowlyIsExpensive) {
  for (const char* batch : {"16", "32", "64"}) add(config(batch, "off"), 1000, 20);
  EXPECT_NEAR(relative(config("128", "on"), 1000), 1, 0.3) << "nothing speaks for it";
  add(config("64", "on"), 1500, 60);
  EXPECT_GT(relative(config("128", "on"), 1500), 2);
  EXPECT_NEAR(relative(config("128", "off"), 1000), 1, 0.3);
}

TEST_F(TrialTimeOf, LongStepsAreExpensive) {
  // 10 s of start-up and 100 steps.
  for (const int batch : {16, 32, 64, 128}) {
    add(config(std::to_string(batch), "off"), 1000, 10 + 0.1 * batch);
  }
  const double short_steps = relative(config("8", "off"), 1000);
  EXPECT_NEAR(relative(config("512", "off"), 1000) / short_steps, 61.2 / 10.8, 1.5);
}

}  // namespace
}  // namespace redline::tuner
