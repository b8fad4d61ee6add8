#include "trace/report/jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace redline::trace {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kJobsNow = 1'700'000'100'000'000'000;
constexpr int64_t kOneSecond = 1'000'000'000;

RunningJob two_ranks() {
  RecentRun run;
  run.world_size = 4;
  run.steps = 41'200;
  run.steps_per_s = 10.9;
  run.samples_per_s = 698;
  run.data_wait_share = 0.114;
  RecentRank rank;
  rank.host = "node7";
  rank.step_ns = 91.7e6;
  rank.own_ns = 80e6;
  rank.data_wait_share = 0.114;
  rank.memory_bytes = 1 << 30;
  rank.last_step_ns = kJobsNow - kOneSecond / 2;
  run.ranks = {rank, rank};
  run.ranks[1].rank = 3;
  run.ranks[1].own_ns = std::nullopt;
  run.most_silent = 0;
  return {.folder = "/home/me/logs", .run = "17.1", .recent = run, .unreadable_logs = {}};
}

TEST(JobsText, ShowsRateWaitAndTheLastStep) {
  RunningJob job = two_ranks();
  EXPECT_EQ(jobs_text({job}, {}, kJobsNow),
            "\n"
            "JOB                             steps  steps/s  samples/s  waits       last step\n"
            "/home/me/logs                  41,200     10.9        698   11 %       0.5 s ago\n"
            "  2 of 4 ranks\n");
  job.recent->slowest = 1;
  job.recent->slowest_excess = 0.12;
  EXPECT_THAT(
      jobs_text({job}, {}, kJobsNow),
      HasSubstr("2 of 4 ranks · rank 3 on node7: 12 % more work of its own than the median\n"));
}

TEST(JobsText, NamesARankWhoseLastStepIsLongAgo) {
  RunningJob job = two_ranks();
  job.recent->ranks[1].last_step_ns = kJobsNow - 75 * kOneSecond;
  job.recent->most_silent = 1;
  const std::string text = jobs_text({job}, {}, kJobsNow);
  EXPECT_THAT(text, HasSubstr("  1 min 15 s ago\n"));
  EXPECT_THAT(text,
              HasSubstr("  rank 3 on node7 ended its last step 1 min 15 s ago, others later\n"));
  // All ranks evaluate, say: none of them is behind.
  job.recent->ranks[0].last_step_ns = kJobsNow - 74 * kOneSecond;
  EXPECT_THAT(jobs_text({job}, {}, kJobsNow), Not(HasSubstr("others later")));
}

TEST(JobsText, SaysWhatIsNotThere) {
  EXPECT_EQ(jobs_text({}, {}, kJobsNow), "");
  RunningJob job = two_ranks();
  job.recent->samples_per_s = job.recent->data_wait_share = std::nullopt;
  job.recent->most_silent = std::nullopt;
  job.unreadable_logs = {"/home/me/logs/rank1.steps.redline: no step log"};
  const std::string text = jobs_text({job}, {}, kJobsNow);
  EXPECT_THAT(text, HasSubstr("10.9        n/a    n/a           ended\n"));
  EXPECT_THAT(text,
              HasSubstr("  1 log left out: /home/me/logs/rank1.steps.redline: no step log\n"));
  job.recent = std::nullopt;
  EXPECT_THAT(jobs_text({job}, {}, kJobsNow), HasSubstr("no step yet\n"));
}

TEST(JobsJson, IsNullWhereNothingIsKnown) {
  const auto json = jobs_json({two_ranks()});
  EXPECT_EQ(json[0]["folder"], "/home/me/logs");
  EXPECT_EQ(json[0]["steps"], 41'200);
  EXPECT_TRUE(json[0]["tokens_per_s"].is_null());
  EXPECT_TRUE(json[0]["slowest_rank"].is_null());
  EXPECT_EQ(json[0]["ranks"][0]["own_ns"], 80'000'000);
  EXPECT_TRUE(json[0]["ranks"][1]["own_ns"].is_null());
}

TEST(JobsPrometheus, WritesEachFigureOnceWithItsComments) {
  RunningJob other = two_ranks();
  other.folder = "/a\"b\\c\n\xfcr";  // Prometheus takes UTF-8 only
  other.run = "18.1";
  other.recent->ranks.resize(1);
  const std::string text = jobs_prometheus({two_ranks(), other});
  EXPECT_THAT(text, HasSubstr("# HELP redline_job_steps_total Training steps since the start of "
                              "the job.\n"
                              "# TYPE redline_job_steps_total counter\n"
                              "redline_job_steps_total{run=\"17.1\",log=\"/home/me/logs\"} 41200\n"
                              "redline_job_steps_total{run=\"18.1\",log=\"/a\\\"b\\\\c"
                              "\ufffd\ufffdr\"} "
                              "41200\n"));
  EXPECT_THAT(text, HasSubstr("redline_rank_step_seconds{run=\"17.1\",log=\"/home/me/logs\","
                              "rank=\"3\",host=\"node7\"} 0.0917\n"));
  EXPECT_THAT(text, HasSubstr("last_step_timestamp_seconds{run=\"17.1\",log=\"/home/me/logs\","
                              "rank=\"0\",host=\"node7\"} 1700000099.5\n"));
  EXPECT_THAT(text, Not(HasSubstr("tokens")));
}

TEST(JobsPrometheus, AJobWithoutAStepHasNoFigures) {
  EXPECT_EQ(jobs_prometheus({{.folder = "logs", .run = "1"}}), "");
}

}  // namespace
}  // namespace redline::trace
