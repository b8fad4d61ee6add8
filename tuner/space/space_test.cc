#include "tuner/space/space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace redline::tuner {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Machine kCpuMachine{.gpu = false, .cores = 4};
constexpr Machine kGpuMachine{.gpu = true, .cores = 4};

std::vector<std::string> names_of(const Space& space) {
  std::vector<std::string> names;
  for (const Knob& knob : space.knobs) names.push_back(knob.name);
  return names;
}

TEST(Space, LeavesOutWhatCannotMatterAndSaysSo) {
  const std::vector<std::string> knobs = {"batch_size=8..64", "amp=off,bf16,fp16",
                                          "cudnn_benchmark=off,on", "pin_memory=off,on"};
  const Space cpu = *make_space(knobs, {"train"}, kCpuMachine);
  EXPECT_THAT(names_of(cpu), ElementsAre("batch_size", "amp"));
  EXPECT_EQ(cpu.find("amp")->text(), "off,bf16");
  EXPECT_THAT(cpu.left_out,
              ElementsAre("amp fp16 left out: no GPU here", "cudnn_benchmark left out: no GPU here",
                          "pin_memory left out: no GPU here"));
  const Space gpu = *make_space(knobs, {"train"}, kGpuMachine);
  EXPECT_EQ(gpu.knobs.size(), 4);
  EXPECT_TRUE(gpu.left_out.empty());
}

TEST(Space, AKnobWhoseOnlyValueCannotMatterLeaves) {
  const Space space = *make_space({"amp=fp16", "batch_size=8..64"}, {"train"}, kCpuMachine);
  EXPECT_THAT(names_of(space), ElementsAre("batch_size"));
  EXPECT_EQ(make_space({"amp=fp16"}, {"train"}, kCpuMachine).error(),
            "nothing is left to search (amp fp16 left out: no GPU here). Add --knob "
            "batch_size=8..512");
}

TEST(Space, WithoutKnobsSuitsPythonTraining) {
  EXPECT_THAT(names_of(*make_space({}, {"train"}, kCpuMachine)),
              ElementsAre("batch_size", "num_workers", "amp", "channels_last", "malloc"));
  const auto with_gpu = names_of(*make_space({}, {"train"}, kGpuMachine));
  EXPECT_THAT(with_gpu, ::testing::Contains("cudnn_benchmark"));
  EXPECT_THAT(with_gpu, ::testing::Not(::testing::Contains("malloc")));
}

TEST(Space, PlaceholdersNeedAFirstValue) {
  const Space space =
      *make_space({"batch_size=1..4096", "threads=2,1", "pin_memory=off,on", "n=3..9"},
                  {"train", "-b{batch_size}", "{threads}", "--p={pin_memory}", "{n}"}, kCpuMachine);
  EXPECT_EQ(space.first,
            (Config{{"batch_size", "32"}, {"threads", "2"}, {"pin_memory", "off"}, {"n", "3"}}));
  EXPECT_TRUE(space.left_out.empty()) << "the command needs its value";
}

TEST(Space, OnlyWhereTheHookSetsAKnobItKnowsTheValues) {
  const std::vector<std::string> knobs = {"optimizer=sgd,adam", "num_workers=auto,4"};
  const auto space = make_space(knobs, {"train", "{optimizer}", "{num_workers}"}, kCpuMachine);
  ASSERT_TRUE(space) << space.error();
  EXPECT_EQ(space->first, (Config{{"optimizer", "sgd"}, {"num_workers", "auto"}}));
  const auto known = parse_signature(space->signature());
  ASSERT_TRUE(known) << known.error();
  EXPECT_EQ(known->signature(), space->signature());
  EXPECT_THAT(make_space(knobs, {"train", "{num_workers}"}, kCpuMachine).error(),
              HasSubstr("--knob optimizer=sgd,adam: optimizer cannot be 'sgd'"));
}

TEST(Space, Errors) {
  const auto error = [](const std::vector<std::string>& knobs) {
    return make_space(knobs, {"train"}, kCpuMachine).error();
  };
  EXPECT_THAT(error({"threads=1,2"}),
              HasSubstr("nothing sets threads: the command has no {threads}"));
  EXPECT_THAT(error({"amp=off,bf16", "amp=off"}), HasSubstr("amp is named twice"));
  EXPECT_THAT(error({"tf32=off,on"}),
              HasSubstr("nothing is left to search (tf32 left out: no GPU here)"));
}

TEST(Space, OneConfigurationHasOneSpelling) {
  const Space space = *make_space({"batch_size=8..64", "x=1,2"}, {"train", "{x}"}, kCpuMachine);
  const Config defaults = {{"batch_size", "64"}, {"x", "1"}};
  EXPECT_EQ(space.canonical({{"batch_size", "64"}, {"x", "1"}}, defaults), (Config{{"x", "1"}}));
  EXPECT_EQ(space.canonical({{"batch_size", "32"}, {"x", "1"}}, defaults),
            (Config{{"batch_size", "32"}, {"x", "1"}}));
}

TEST(Space, KnobsOfRanksNeedRanks) {
  const std::vector<std::string> knobs = {"batch_size=8..64", "bucket_cap_mb=10,25"};
  const Space one = *make_space(knobs, {"torchrun", "--nproc_per_node", "1", "t.py"}, kCpuMachine);
  EXPECT_THAT(names_of(one), ElementsAre("batch_size"));
  EXPECT_THAT(one.left_out, ElementsAre("bucket_cap_mb left out: the command runs one rank"));
  const Space two =
      *make_space(knobs, {"torchrun", "--nproc_per_node", "2", "train.py"}, kCpuMachine);
  EXPECT_THAT(names_of(two), ElementsAre("batch_size", "bucket_cap_mb"));
  EXPECT_EQ(make_space(knobs, {"./train"}, kCpuMachine)->knobs.size(), 2) << "unknown: kept";
  EXPECT_EQ(make_space(knobs, {"python", "train.py"}, kCpuMachine)->knobs.size(), 2)
      << "it may start ranks itself";
}

TEST(Space, AGlobalBatchNeedsNoGpuForRanksThatCountGpus) {
  const std::vector<std::string> command = {"torchrun", "--nproc_per_node", "gpu", "train.py"};
  EXPECT_EQ(make_space({"batch_size=1..8"}, command, kCpuMachine, 8)->ranks, 1)
      << "until one tells";
}

TEST(Space, AGlobalBatchIsKeptExactlyByAccumulation) {
  const std::vector<std::string> command = {"torchrun", "--nproc_per_node=2", "train.py"};
  const Space space = *make_space({"batch_size=4..4096"}, command, kCpuMachine, 240);
  EXPECT_EQ(space.find("batch_size")->text(), "4,5,6,8,10,12,15,20,24,30,40,60,120");
  EXPECT_EQ(space.first, (Config{{"batch_size", "30"}, {"accumulation", "4"}}));
  for (const std::string& batch : space.find("batch_size")->values) {
    Config config = space.canonical({{"batch_size", batch}, {"accumulation", "7"}}, space.first);
    EXPECT_EQ(2 * *parse_integer(config["batch_size"]) * *parse_integer(config["accumulation"]),
              240);
  }
  EXPECT_EQ(space.canonical({{"batch_size", "0"}}, {}), (Config{{"batch_size", "0"}}))
      << "an odd study file may say so";
  EXPECT_EQ(make_space({"num_workers=0..2"}, {"python", "t.py"}, kCpuMachine, 6)
                ->find("batch_size")
                ->text(),
            "1,2,3,6");
  const auto large = make_space({"batch_size=1..16"}, command, kCpuMachine, 1'000'000'000'000);
  EXPECT_EQ(large->find("batch_size")->text(), "1,2,4,5,8,10,16") << "found at once";
  EXPECT_THAT(make_space({}, command, kCpuMachine, 1'000'000'000'002).error(),
              HasSubstr("no step takes so many samples"));
  EXPECT_THAT(make_space({}, command, kCpuMachine, 9).error(), HasSubstr("Give a multiple of 2"));
  EXPECT_THAT(make_space({"batch_size=7..8"}, command, kCpuMachine, 20).error(),
              HasSubstr("no batch size of 7..8 divides the 10 samples of a rank"));
  EXPECT_THAT(make_space({"accumulation=1,2"}, command, kCpuMachine, 20).error(),
              HasSubstr("sets accumulation itself"));
}

TEST(Space, WhatATrialHasNothingForLeaves) {
  Space space = *make_space({"batch_size=8..64", "num_workers=0..4", "amp=off,bf16", "x=1,2"},
                            {"python", "t.py", "{x}"}, kCpuMachine);
  space.leave_out({{"batch_size", "no loader"},
                   {"num_workers", "no loader"},
                   {"x", "no {x}"},
                   {"tf32", "not asked for"}});
  EXPECT_THAT(names_of(space), ElementsAre("amp", "x"));
  EXPECT_THAT(space.left_out, ElementsAre("batch_size, num_workers left out: no loader"));
  EXPECT_EQ(space.canonical({{"batch_size", "8"}, {"x", "2"}}, {}), (Config{{"x", "2"}}));
  ASSERT_EQ(space.unread.size(), 2);
  EXPECT_THAT(space.unread[0], HasSubstr("--knob batch_size: nothing in this command reads it"));
  space.leave_out({{"amp", "a later trial's word"}});
  EXPECT_EQ(space.unread.size(), 2) << "only the first trial's is an error";

  Space usual = *make_space({}, {"python", "t.py"}, kCpuMachine);
  usual.leave_out({{"batch_size", "no loader"}});
  EXPECT_TRUE(usual.unread.empty());
}

TEST(Space, AGlobalBatchThatNothingReadsIsAnError) {
  const std::map<std::string, std::string> unused = {{"batch_size", "no torch"},
                                                     {"accumulation", "no torch"}};
  Space neither = *make_space({}, {"./train"}, kCpuMachine, 64);
  neither.leave_out(unused);
  EXPECT_THAT(
      neither.unread,
      ElementsAre(HasSubstr("--global-batch: nothing in this command reads accumulation: no "
                            "torch. Leave --global-batch out, or write {accumulation}"),
                  HasSubstr("--global-batch: nothing in this command reads batch_size")));
  Space half = *make_space({}, {"./train", "{batch_size}"}, kCpuMachine, 64);
  half.leave_out(unused);
  EXPECT_THAT(half.unread, ElementsAre(HasSubstr("reads accumulation")));
  Space both = *make_space({}, {"./train", "{batch_size}x{accumulation}"}, kCpuMachine, 64);
  both.leave_out(unused);
  EXPECT_TRUE(both.unread.empty());
  EXPECT_EQ(both.first, (Config{{"batch_size", "32"}, {"accumulation", "2"}}));
}

TEST(Space, RanksThatTheScriptStartsItself) {
  Space space = *make_space({}, {"python", "spawn.py"}, kCpuMachine, 64);
  EXPECT_EQ(space.find("bucket_cap_mb"), nullptr);
  EXPECT_EQ(space.first, (Config{{"batch_size", "32"}, {"accumulation", "2"}}));
  EXPECT_TRUE(space.learn_ranks(2)) << "the first trial took 128 samples a step";
  EXPECT_EQ(space.first, (Config{{"batch_size", "32"}, {"accumulation", "1"}}));
  EXPECT_NE(space.find("bucket_cap_mb"), nullptr);
  EXPECT_FALSE(space.learn_ranks(2));
  Space odd = *make_space({}, {"python", "spawn.py"}, kCpuMachine, 64);
  EXPECT_TRUE(odd.learn_ranks(3));
  ASSERT_EQ(odd.unread.size(), 1);
  EXPECT_THAT(odd.unread[0], HasSubstr("3 ranks cannot share it evenly"));
}

TEST(Space, WhatCannotAccumulateTakesTheWholeShareAtOnce) {
  Space space = *make_space({}, {"python", "train.py"}, kCpuMachine, 16);
  EXPECT_TRUE(space.limit("accumulation", 1, "the optimizer steps with a closure"));
  EXPECT_EQ(space.find("batch_size")->text(), "16");
  EXPECT_EQ(space.left_out.back(),
            "batch_size below 16 left out: the optimizer steps with a closure");
}

TEST(Space, ABatchHoldsNoMoreThanAnEpoch) {
  Space space = *make_space({"batch_size=8..512"}, {"python", "t.py"}, kCpuMachine);
  EXPECT_TRUE(space.limit("batch_size", 100, "an epoch has no more"));
  EXPECT_EQ(space.find("batch_size")->text(), "8..100");
  Space list = *make_space({"batch_size=8,64,512"}, {"python", "t.py"}, kCpuMachine);
  EXPECT_TRUE(list.limit("batch_size", 100, "an epoch has no more"));
  EXPECT_EQ(list.find("batch_size")->text(), "8,64");
  EXPECT_THAT(list.left_out.back(),
              HasSubstr("batch_size above 100 left out: an epoch has no more"));
  EXPECT_FALSE(list.limit("batch_size", 4, "an epoch has no more")) << "nothing would be left";
  EXPECT_EQ(list.find("batch_size")->text(), "8,64");
}

}  // namespace
}  // namespace redline::tuner
