#include "tuner/search/less_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tuner/search/strategy.h"
#include "tuner/search/testing_history.h"

namespace redline::tuner {
namespace {

using ::testing::ElementsAre;

class LessMemoryOf : public ::testing::TestWithParam<const char*> {
 protected:
  /// Of the first trial, which had the values of the script's own.
  void first_ended(const Space& space, Outcome outcome, const Config& observed = {}) {
    TrialResult result = ended_with(outcome);
    result.observed = observed;
    add_trial(history_.emplace(space), space.first, result, "default");
  }
  [[nodiscard]] std::optional<Proposal> next() const {
    return make_strategy(GetParam(), history_->space(), {})->ask(*history_);
  }
  [[nodiscard]] Config next_config() const {
    const auto proposal = next();
    return proposal ? proposal->config : Config{{"nothing", "more"}};
  }
  /// What is asked until nothing is, or until a trial runs. The others run out of memory.
  std::vector<std::string> asked(const std::function<bool(const Config&)>& runs) {
    std::vector<std::string> texts;
    while (const auto proposal = next()) {
      texts.push_back(config_text(history_->effective(proposal->config), " "));
      const bool ran = runs(proposal->config);
      add_trial(*history_, proposal->config, ran ? ran_at(100, 1) : ended_with(Outcome::kGpuOom));
      if (ran) break;
    }
    return texts;
  }
  static bool nothing(const Config&) { return false; }

  std::optional<History> history_;
};

TEST_P(LessMemoryOf, WhatSavesMemoryIsSetTogetherThatWhichSavesMostFirst) {
  const Space space =
      *make_space({"amp=off,bf16", "batch_size=1..64", "channels_last=off,on",
                   "checkpointing=off,on", "num_workers=0..4", "optimizer=default,fused"},
                  {"python", "train.py"}, {});
  first_ended(space, Outcome::kGpuOom, {{"batch_size", "16"}});
  EXPECT_THAT(
      asked(nothing),
      ElementsAre("batch_size 4", "batch_size 1", "batch_size 1 checkpointing on",
                  "amp bf16 batch_size 1 checkpointing on",
                  "amp bf16 batch_size 1 checkpointing on optimizer fused",
                  "amp bf16 batch_size 1 channels_last on checkpointing on optimizer fused"))
      << "workers take none of a GPU's memory";
}

TEST_P(LessMemoryOf, KnobsOfTheScriptsOwnAreTriedAloneAndThenAtOnce) {
  const Space space = *make_space({"bs=512,256,128", "ckpt=off,on", "mode=a,b,c"},
                                  {"train", "{bs}{ckpt}{mode}"}, {});
  first_ended(space, Outcome::kGpuOom);
  EXPECT_THAT(asked(nothing), ElementsAre("bs 128 ckpt off mode a", "bs 512 ckpt on mode a",
                                          "bs 512 ckpt off mode b", "bs 128 ckpt on mode b",
                                          "bs 512 ckpt off mode c"));
  first_ended(space, Outcome::kGpuOom);
  const auto both = [](const Config& all) {
    return all.at("bs") == "128" && all.at("ckpt") == "on";
  };
  EXPECT_EQ(asked(both).back(), "bs 128 ckpt on mode b");
  const auto after = make_coordinate(space)->ask(*history_);
  ASSERT_TRUE(after);
  EXPECT_EQ(config_text(after->config, " "), "bs 256 ckpt on mode b") << "it goes on from there";
}

TEST_P(LessMemoryOf, MoreAccumulationSavesOnlyWhereTheScriptItselfDividesItsBatch) {
  const std::vector<std::string> knobs = {"accumulation=1,2,4"};
  const Space own = *make_space(knobs, {"train", "{accumulation}"}, {});
  first_ended(own, Outcome::kGpuOom);
  EXPECT_THAT(asked(nothing), ElementsAre("accumulation 4"));
  const Space hook = *make_space(knobs, {"python", "train.py"}, {});
  first_ended(hook, Outcome::kGpuOom);
  EXPECT_THAT(asked(nothing), ElementsAre());
}

TEST_P(LessMemoryOf, AModelThatIsTooLargeEndsTheSearchSoon) {
  std::vector<std::string> knobs, command = {"train"};
  for (const char digit : std::string("0123456789")) {
    const std::string name = std::string("k") + digit;
    knobs.push_back(name + "=a,b,c,d,e");
    command.push_back("{" + name + "}");
  }
  const Space space = *make_space(knobs, command, {});
  first_ended(space, Outcome::kGpuOom);
  EXPECT_EQ(asked(nothing).size(), 8);
}

TEST_P(LessMemoryOf, WhatFailsForAnotherReasonIsNoPartOfWhatFollows) {
  const Space space =
      *make_space({"batch_size=1..64", "checkpointing=off,on"}, {"python", "train.py"}, {});
  first_ended(space, Outcome::kGpuOom, {{"batch_size", "4"}});
  const Config one = {{"batch_size", "1"}};
  EXPECT_EQ(next_config(), one);
  add_trial(*history_, one, ended_with(Outcome::kInvalid));  // BatchNorm takes no batch of 1
  EXPECT_EQ(next_config(), (Config{{"checkpointing", "on"}}));
}

TEST_P(LessMemoryOf, WhereDevShmIsFullTheWorkersComeFirst) {
  const Space space = *make_space({"batch_size=1..64", "num_workers=0..8", "prefetch_factor=2,4"},
                                  {"python", "train.py"}, {.cores = 8});
  const Config observed = {{"batch_size", "16"}, {"num_workers", "8"}, {"prefetch_factor", "4"}};
  first_ended(space, Outcome::kShmFull, observed);
  EXPECT_EQ(next_config(), (Config{{"num_workers", "0"}}));
  first_ended(space, Outcome::kHostOom, observed);
  EXPECT_THAT(asked(nothing), ElementsAre("batch_size 4 num_workers 8 prefetch_factor 4",
                                          "batch_size 1 num_workers 8 prefetch_factor 4",
                                          "batch_size 1 num_workers 0 prefetch_factor 4"));
}

INSTANTIATE_TEST_SUITE_P(Strategies, LessMemoryOf, ::testing::Values("model", "coordinate"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace redline::tuner
