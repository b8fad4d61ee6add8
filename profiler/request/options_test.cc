#include "profiler/request/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/launched_rank.h"

namespace redline::profiler {
namespace {

using ::testing::HasSubstr;

TEST(Options, ReadsWhatRecordAsksFor) {
  const auto request = parse_record_request(
      R"({"directory": "/tmp/a", "profile_memory": true, "with_flops": true, "max_bytes": 2000000,
          "host_samples_hz": 5,
          "schedule": {"wait": 1, "active": 3}})");
  ASSERT_TRUE(request) << request.error();
  EXPECT_EQ(request->options.directory, "/tmp/a");
  EXPECT_EQ(static_cast<const RecorderOptions&>(request->options),
            (RecorderOptions{.record_shapes = true,
                             .profile_memory = true,
                             .with_flops = true,
                             .host_samples_hz = 5,
                             .max_bytes = 2'000'000}));
  EXPECT_EQ(request->schedule->wait, 1);
  EXPECT_EQ(request->schedule->active, 3);
  EXPECT_FALSE(parse_record_request(R"({"schedule": null})")->schedule);
}

/// Gives each option another value than its default.
TEST(Options, AreWhatTheyWereAfterTheWayThroughJson) {
  RecordRequest asked;
  for_each_option<RecorderOptions>([&](const OptionRow&, auto member) {
    auto& value = asked.options.*member;
    value = static_cast<std::remove_reference_t<decltype(value)>>(value == 0 ? (1 << 20) : 0);
  });
  asked.options.record_gpu = true;
  asked.options.ring_seconds = 0.5;
  asked.options.memory_budget_bytes = 2 << 20;
  asked.options.directory = "a \"b\"";
  asked.schedule = {.skip_first = 1, .wait = 2, .warmup = 3, .active = 4, .repeat = 5};
  asked.ranks = {0, 3};
  asked.step_marker = "step";
  asked.only_on_request = true;
  const auto read = parse_record_request(to_json(asked));
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->options, asked.options);
  EXPECT_EQ(to_json(*read), to_json(asked));
}

TEST(Options, KeepTo64MiBByDefault) {
  EXPECT_EQ(parse_record_request("{}")->options.memory_budget_bytes, uint64_t{64} << 20);
}

TEST(Options, SaysWhatIsWrong) {
  EXPECT_THAT(parse_record_request("nonsense").error(), HasSubstr("not a JSON object"));
  EXPECT_THAT(parse_record_request(R"({"directory": 1})").error(), HasSubstr("directory"));
  EXPECT_THAT(parse_record_request(R"({"memory_budget_bytes": 5})").error(), HasSubstr("at least"));
  EXPECT_THAT(parse_record_request(R"({"max_bytes": 5})").error(), HasSubstr("at least"));
  EXPECT_THAT(parse_record_request(R"({"max_write_rate": 5})").error(), HasSubstr("at least 64kB"));
  for (const char* hz : {"101", "-1"}) {
    EXPECT_EQ(parse_record_request(std::string(R"({"host_samples_hz": )") + hz + "}").error(),
              std::string("option host_samples_hz: must be from 0 to 100, not ") + hz);
  }
  EXPECT_EQ(parse_record_request(R"({"max_bytes": "64MB"})").error(),
            "option max_bytes: must be a whole number, not \"64MB\"");
  EXPECT_EQ(parse_record_request(R"({"ring_seconds": "30s"})").error(),
            "option ring_seconds: must be a number, not \"30s\"");
  EXPECT_THAT(
      parse_record_request(R"({"max_bytes": 5e6, "memory_budget_bytes": 2097152.5})").error(),
      HasSubstr("memory_budget_bytes: must be a whole number, not 2097152.5"));
  EXPECT_FALSE(parse_record_request(R"({"max_bytes": 1e30})"));
  EXPECT_EQ(parse_record_request(R"({"max_bytes": 500e6})")->options.max_bytes, 500'000'000);
  EXPECT_THAT(parse_record_request(R"({"cpu": false, "gpu": false})").error(),
              HasSubstr("one of them"));
  EXPECT_THAT(parse_record_request(R"({"with_stack": 1})").error(),
              HasSubstr("with_stack: must be a boolean"));
  EXPECT_THAT(parse_record_request(R"({"with_stacks": true})").error(),
              HasSubstr("with_stacks: unknown"));
  EXPECT_THAT(parse_record_request(R"({"schedule": {"active": 0}})").error(), HasSubstr("active"));
  EXPECT_THAT(parse_record_request(R"({"schedule": {"wait": "1"}})").error(), HasSubstr("wait"));
}

TEST(Options, TheLaunchedRankDecidesWhoIsRecorded) {
  for (const auto& [rank, size] : kRankVariables) {
    unsetenv(rank);
    unsetenv(size);
  }
  const auto request = parse_record_request(R"({"ranks": [0, 3]})");
  ASSERT_TRUE(request) << request.error();
  EXPECT_FALSE(is_excluded(*request));  // the rank is not known yet
  setenv("WORLD_SIZE", "4", 1);
  setenv("RANK", "3", 1);
  EXPECT_FALSE(is_excluded(*request));
  setenv("RANK", "1", 1);
  EXPECT_TRUE(is_excluded(*request));
  EXPECT_FALSE(is_excluded(*parse_record_request("{}")));
  unsetenv("RANK");
  unsetenv("WORLD_SIZE");
  EXPECT_FALSE(parse_record_request(R"({"ranks": [-1]})"));
  EXPECT_FALSE(parse_record_request(R"({"ranks": 0})"));
}

}  // namespace
}  // namespace redline::profiler
