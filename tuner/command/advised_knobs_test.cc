#include "tuner/command/traces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/paths.h"
#include "tuner/search/strategy.h"
#include "tuner/search/testing_history.h"

namespace redline::tuner {
namespace {

using ::testing::ElementsAre;

constexpr Machine kGpuMachine{.gpu = true, .cores = 4};

auto named(const char* name) { return ::testing::Field(&Knob::name, name); }

TEST(AdvisedKnobs, ComeFirstInTheOrderOfTheAdvice) {
  Space space =
      *make_space({"batch_size=8..64", "amp=off,bf16", "num_workers=0..4"}, {"t"}, kGpuMachine);
  put_advised_first(space, {"num_workers=0..16", "tf32=off,on", "amp=off,fp16"}, false,
                    kGpuMachine);
  EXPECT_THAT(space.knobs, ElementsAre(named("num_workers"), named("amp"), named("batch_size")));
  EXPECT_EQ(space.find("num_workers")->text(), "0..4") << "the user's own range";
  EXPECT_THAT(space.left_out,
              ElementsAre("tf32 left out: the report advises it, but no --knob names it"));
}

TEST(AdvisedKnobs, AreAddedWhereTheUserNamedNone) {
  Space space = *make_space({"batch_size=8..64"}, {"t"}, kGpuMachine);
  put_advised_first(space, {"tf32=off,on"}, true, kGpuMachine);
  EXPECT_THAT(space.knobs, ElementsAre(named("tf32"), named("batch_size")));
  Space cpu = *make_space({"batch_size=8..64"}, {"t"}, {});
  put_advised_first(cpu, {"tf32=off,on"}, true, {});
  EXPECT_THAT(cpu.knobs, ElementsAre(named("batch_size")));
}

TEST(AdvisedKnobs, TheModelTriesThemFirst) {
  Space space = *make_space({"channels_last=off,on", "zero_grad=none,zero"}, {"t"}, {});
  TrialResult first = ran_at(100, 1);
  first.observed = {{"channels_last", "off"}, {"zero_grad", "none"}};
  const auto second_trial = [&] {
    History history(space);
    add_trial(history, {}, first, "default");
    return *make_strategy("model", space, {})->ask(history);
  };
  const double before = second_trial().expected->score.samples_per_s;
  put_advised_first(space, {"zero_grad=none,zero"}, false, {});
  EXPECT_EQ(second_trial().config.at("zero_grad"), "zero");
  EXPECT_GT(second_trial().expected->score.samples_per_s, before);
}

TEST(AdvisedKnobs, AreReadFromARealTrace) {
  const std::filesystem::path shared =
      std::filesystem::path(redline::testing::shared_dir()) / "traces";
  if (!std::filesystem::exists(shared)) GTEST_SKIP() << shared << " is absent";
  for (const auto& file : std::filesystem::recursive_directory_iterator(shared)) {
    if (file.path().filename().string().find("workers0") == std::string::npos) continue;
    const auto knobs = advised_knobs(file.path());
    ASSERT_TRUE(knobs) << knobs.error();
    EXPECT_THAT(*knobs, ::testing::Contains("num_workers=0..4"));
    return;
  }
  GTEST_SKIP() << "no trace without workers in " << shared;
}

TEST(AdvisedKnobs, AFileThatIsNoTraceIsAnError) {
  EXPECT_THAT(advised_knobs("/none.json").error(), ::testing::HasSubstr("/none.json"));
}

}  // namespace
}  // namespace redline::tuner
