#include "profiler/request/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  EXPECT_EQ(request->options.sources, (SourceOptions{.record_shapes = true,
                                                     .profile_memory = true,
                                                     .with_flops = true,
                                                     .host_samples_hz = 5}));
  EXPECT_EQ(request->options.max_bytes, 2'000'000u);
  EXPECT_EQ(request->schedule->wait, 1);
  EXPECT_EQ(request->schedule->active, 3);
  EXPECT_FALSE(parse_record_request(R"({"schedule": null})")->schedule);
}

TEST(Options, KeepTo64MiBByDefault) {
  EXPECT_EQ(parse_options("{}")->memory_budget_bytes, uint64_t{64} << 20);
}

TEST(Options, SaysWhatIsWrong) {
  EXPECT_THAT(parse_options("nonsense").error(), HasSubstr("not a JSON object"));
  EXPECT_THAT(parse_options(R"({"directory": 1})").error(), HasSubstr("directory"));
  EXPECT_THAT(parse_options(R"({"memory_budget_bytes": 5})").error(), HasSubstr("at least"));
  EXPECT_THAT(parse_options(R"({"max_bytes": 5})").error(), HasSubstr("at least"));
  EXPECT_THAT(parse_options(R"({"host_samples_hz": 101})").error(), HasSubstr("at most"));
  EXPECT_THAT(parse_options(R"({"host_samples_hz": -1})").error(), HasSubstr("host_samples_hz"));
  EXPECT_THAT(parse_options(R"({"cpu": false, "gpu": false})").error(), HasSubstr("one of them"));
  EXPECT_THAT(parse_options(R"({"with_stack": 1})").error(), HasSubstr("with_stack"));
  EXPECT_THAT(parse_options(R"({"with_stacks": true})").error(), HasSubstr("with_stacks"));
  EXPECT_THAT(parse_record_request(R"({"schedule": {"active": 0}})").error(), HasSubstr("active"));
  EXPECT_THAT(parse_record_request(R"({"schedule": {"wait": "1"}})").error(), HasSubstr("wait"));
}

}  // namespace
}  // namespace redline::profiler
