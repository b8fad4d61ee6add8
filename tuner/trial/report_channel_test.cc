#include "tuner/trial/report_channel.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "tests/temporary_folder.h"

namespace redline::tuner {
namespace {

class Channel : public ::testing::Test {
 protected:
  void SetUp() override {
    auto channel = ReportChannel::create(folder_ + "/reports");
    ASSERT_TRUE(channel) << channel.error();
    channel_.emplace(std::move(*channel));
    rank_ = open((folder_ + "/reports").c_str(), O_WRONLY | O_NONBLOCK);
    ASSERT_GE(rank_, 0);
  }
  ~Channel() override { close(rank_); }
  void write(const std::string& text) {
    ASSERT_EQ(::write(rank_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }

  const testing::TemporaryFolder place_;
  const std::string folder_ = place_.path();
  std::optional<ReportChannel> channel_;
  int rank_ = -1;
};

constexpr const char* kStep =
    R"({"type":"step","rank":1,"world":2,"t":123456789012,"steps":7,"samples":448,"memory":99,"resting":44,"device":1,"devices":2,"ahead":16})";

TEST_F(Channel, ReadsEveryKind) {
  write(std::string(kStep) + "\n" +
        R"({"type":"failure","rank":0,"kind":"gpu_oom","error":"E","message":"m"})"
        "\n"
        R"({"type":"seen","rank":0,"knobs":{"batch_size":64,"amp":"off"}})"
        "\n"
        R"({"type":"note","rank":1,"text":"no"})"
        "\n");
  const auto reports = channel_->read();
  ASSERT_EQ(reports.size(), 4U);
  const auto& step = std::get<StepReport>(reports[0]);
  EXPECT_EQ(step.rank, 1);
  EXPECT_EQ(step.world_size, 2);
  EXPECT_EQ(step.time_ns, 123456789012);
  EXPECT_EQ(step.steps, 7);
  EXPECT_EQ(step.samples, 448);
  EXPECT_EQ(step.peak_memory_bytes, 99U);
  EXPECT_EQ(step.resting_memory_bytes, 44U);
  EXPECT_EQ(step.device, 1);
  EXPECT_EQ(step.devices, 2);
  EXPECT_EQ(step.batches_ahead, 16);
  EXPECT_EQ(std::get<FailureReport>(reports[1]).kind, "gpu_oom");
  EXPECT_EQ(std::get<SeenReport>(reports[2]).knobs.at("batch_size"), "64");
  EXPECT_EQ(std::get<NoteReport>(reports[3]).text, "no");
  EXPECT_EQ(channel_->garbage(), 0);
}

TEST_F(Channel, ALineMayComeInPieces) {
  const std::string line = std::string(kStep) + "\n";
  for (size_t cut = 1; cut < line.size(); ++cut) {
    write(line.substr(0, cut));
    EXPECT_TRUE(channel_->read().empty()) << cut;
    write(line.substr(cut));
    EXPECT_EQ(channel_->read().size(), 1U) << cut;
  }
  EXPECT_EQ(channel_->garbage(), 0);
}

TEST_F(Channel, RanksOfOtherMachinesReportIntoFilesByTheirOwnClock) {
  auto channel = ReportChannel::create(folder_ + "/shared", true);
  ASSERT_TRUE(channel) << channel.error();
  EXPECT_TRUE(channel->read().empty());
  const auto append = [this](const char* file, const std::string& text) {
    std::ofstream(folder_ + "/shared.d/" + file, std::ios::app) << text;
  };
  const int64_t realtime = std::chrono::system_clock::now().time_since_epoch().count();
  const int64_t now = std::chrono::steady_clock::now().time_since_epoch().count();
  // That machine was booted an hour later than this one, so its monotonic clock is an hour behind.
  const int64_t hour = 3'600'000'000'000;
  const std::string line =
      fmt::format(R"({{"type":"step","rank":1,"world":2,"t":{},"clock":{},"steps":7,"samples":9}})",
                  now - hour, realtime - (now - hour));
  append("b.7", line.substr(0, 30));
  append("a.9", line + "\n" + line + "\n");
  EXPECT_EQ(channel->read().size(), 2U);
  append("b.7", line.substr(30) + "\n");
  const auto reports = channel->read();
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_NEAR(static_cast<double>(std::get<StepReport>(reports[0]).time_ns - now), 0, 5e9);
  EXPECT_EQ(channel->garbage(), 0);
  auto next = ReportChannel::create(folder_ + "/shared", true);
  ASSERT_TRUE(next) << next.error();
  EXPECT_TRUE(next->read().empty()) << "the files were of a trial before it";
}

TEST_F(Channel, GarbageIsCountedAndSkipped) {
  const char* const garbage[] = {"",
                                 "x",
                                 "{",
                                 "[1]",
                                 "7",
                                 R"({"type":"step"})",
                                 R"({"type":"step","rank":"one"})",
                                 R"({"type":"other","rank":0})",
                                 R"({"type":7})",
                                 "\xff\xfe\x01",
                                 R"({"type":"seen","rank":0,"knobs":[]})",
                                 R"({"type":"note","rank":0,"text":5})"};
  for (const char* line : garbage) {
    write(std::string(line) + "\n" + kStep + "\n");
    EXPECT_EQ(channel_->read().size(), 1U) << line;
  }
  EXPECT_EQ(channel_->garbage(), static_cast<int64_t>(std::size(garbage)));
}

TEST_F(Channel, ALineMayHave64Kibibytes) {
  for (const size_t bytes : {60'000, 5'536}) {
    write(std::string(bytes, 'x'));
    EXPECT_TRUE(channel_->read().empty());
  }
  EXPECT_EQ(channel_->garbage(), 0);
  write("x");
  EXPECT_TRUE(channel_->read().empty());
  EXPECT_EQ(channel_->garbage(), 1);
}

TEST_F(Channel, AnEndlessLineIsForgotten) {
  const std::string block(60'000, 'x');
  for (int i = 0; i < 40; ++i) {
    write(block);
    EXPECT_TRUE(channel_->read().empty());
  }
  write(std::string("\n") + kStep + "\n");
  EXPECT_EQ(channel_->read().size(), 1U);
  EXPECT_EQ(channel_->garbage(), 21) << "each second block was too much, and its end is no report";
}

TEST_F(Channel, OneThatATrialLeftBehindIsReplaced) {
  EXPECT_TRUE(ReportChannel::create(folder_ + "/reports"));
  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(folder_ + "/reports").permissions(),
            perms::owner_read | perms::owner_write)
      << "other users can tell it nothing";
}

TEST(ReportChannel, SaysWhyItCannotBeMade) {
  const auto channel = ReportChannel::create("/no/such/folder/reports");
  ASSERT_FALSE(channel);
  EXPECT_EQ(channel.error(), "/no/such/folder/reports: No such file or directory");
}

TEST(Report, WhatTheHookTellsBesideSteps) {
  const auto unused =
      parse_report(R"({"type":"unused","rank":0,"knobs":["amp","tf32"],"why":"no model"})");
  ASSERT_TRUE(unused);
  EXPECT_EQ(std::get<UnusedReport>(*unused).knobs, (std::vector<std::string>{"amp", "tf32"}));
  const auto compile =
      parse_report(R"({"type":"compile","rank":1,"t":5,"running":true,"total":7})");
  ASSERT_TRUE(compile);
  EXPECT_TRUE(std::get<CompileReport>(*compile).running);
  EXPECT_EQ(std::get<CompileReport>(*compile).total_ns, 7);
  const auto activity =
      parse_report(R"({"type":"activity","rank":0,"t":5,"forwards":3,"backwards":0})");
  ASSERT_TRUE(activity);
  EXPECT_EQ(std::get<ActivityReport>(*activity).forwards, 3);
  EXPECT_EQ(std::get<ActivityReport>(*activity).without_batch, 0);
  const auto stale = parse_report(
      R"({"type":"activity","rank":0,"t":5,"forwards":3,"backwards":2,"without_batch":12})");
  ASSERT_TRUE(stale);
  EXPECT_EQ(std::get<ActivityReport>(*stale).without_batch, 12);
  EXPECT_FALSE(parse_report(R"({"type":"unused","rank":0,"knobs":"amp","why":"no model"})"));
  const auto above = parse_report(
      R"({"type":"unused","rank":0,"knobs":["num_workers"],"why":"a stream","above":1})");
  ASSERT_TRUE(above);
  EXPECT_EQ(std::get<UnusedReport>(*above).above, 1);
  EXPECT_TRUE(parse_report(R"({"type":"begin","rank":3})"));
}

TEST(Report, AStepTellsAllItsFiguresOrTheUsualOnes) {
  const auto step_of = [](const std::string& line) {
    return std::get<StepReport>(*parse_report(line));
  };
  const StepReport whole = step_of(
      R"({"type":"step","rank":1,"world":2,"t":3,"steps":4,"samples":5,"memory":6,"resting":7,)"
      R"("capacity":8,"device":9,"devices":10,"wait":11,"evaluation":12,"epoch":13,)"
      R"("inference":true,"tokens":14,"may_train":true,"batches":[15,16]})");
  EXPECT_EQ(whole.memory_capacity_bytes, 8);
  EXPECT_EQ(whole.device, 9);
  EXPECT_EQ(whole.devices, 10);
  EXPECT_EQ(whole.data_wait_ns, 11);
  EXPECT_EQ(whole.evaluation_ns, 12);
  EXPECT_EQ(whole.epoch_samples, 13);
  EXPECT_TRUE(whole.inference);
  EXPECT_EQ(whole.tokens, 14);
  EXPECT_TRUE(whole.may_train);
  EXPECT_EQ(whole.batches_ns, (std::vector<int64_t>{15, 16}));
  const StepReport least = step_of(R"({"type":"step","rank":1,"t":3,"steps":4,"samples":5})");
  EXPECT_EQ(least.world_size, 1);
  EXPECT_EQ(least.device, 0);
  EXPECT_EQ(least.devices, 1);
  EXPECT_EQ(least.evaluation_ns, 0);
  EXPECT_FALSE(least.inference || least.may_train);
  EXPECT_FALSE(least.peak_memory_bytes || least.resting_memory_bytes || least.epoch_samples ||
               least.memory_capacity_bytes || least.data_wait_ns || least.tokens);
  const auto failure = parse_report(R"({"type":"failure","rank":2,"kind":"nan_loss"})");
  EXPECT_EQ(std::get<FailureReport>(*failure).rank, 2);
  EXPECT_EQ(std::get<FailureReport>(*failure).error, "");
}

}  // namespace
}  // namespace redline::tuner
