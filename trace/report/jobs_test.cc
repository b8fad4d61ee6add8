#include "trace/report/jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace redline::trace {
namespace {

using ::testing::ContainsRegex;
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
  EXPECT_EQ(jobs_text({kJobsNow, {job}}, {}, kJobsNow),
            "\n"
            "JOB                             steps  steps/s  samples/s  waits       last step\n"
            "/home/me/logs                  41,200     10.9        698   11 %       0.5 s ago\n"
            "  2 of 4 ranks\n");
  job.recent->slowest = 1;
  job.recent->slowest_excess = 0.12;
  EXPECT_THAT(
      jobs_text({kJobsNow, {job}}, {}, kJobsNow),
      HasSubstr("2 of 4 ranks · rank 3 on node7: 12 % more work of its own than the median\n"));
}

TEST(JobsText, NamesARankWhoseLastStepIsLongAgo) {
  RunningJob job = two_ranks();
  job.recent->ranks[1].last_step_ns = kJobsNow - 75 * kOneSecond;
  job.recent->most_silent = 1;
  const std::string text = jobs_text({kJobsNow, {job}}, {}, kJobsNow);
  EXPECT_THAT(text, HasSubstr("  1 min 15 s ago\n"));
  EXPECT_THAT(text,
              HasSubstr("  rank 3 on node7 ended its last step 1 min 15 s ago, others later\n"));
  // All ranks evaluate, say: none of them is behind.
  job.recent->ranks[0].last_step_ns = kJobsNow - 74 * kOneSecond;
  EXPECT_THAT(jobs_text({kJobsNow, {job}}, {}, kJobsNow), Not(HasSubstr("others later")));
}

TEST(JobsText, ALongHostNameCutsNoSentence) {
  RunningJob job = two_ranks();
  job.recent->slowest = job.recent->most_silent = 1;
  job.recent->slowest_excess = 0.12;
  job.recent->ranks[1].host = "ip-172-31-5-12.us-west-2.compute.internal";
  job.recent->ranks[1].last_step_ns = kJobsNow - 75 * kOneSecond;
  EXPECT_THAT(
      jobs_text({kJobsNow, {job}}, {}, kJobsNow),
      HasSubstr("  2 of 4 ranks · rank 3 on ip-172-31-5-12.us-west-2.compute.internal: 12 % "
                "more\n  work of its own than the median\n"
                "  rank 3 on ip-172-31-5-12.us-west-2.compute.internal ended its last "
                "step 1 min\n  15 s ago, others later\n"));
}

TEST(JobsText, ShowsOldFiguresAsOfThen) {
  const ReadJobs read = {kJobsNow, {two_ranks()}};
  const std::string text = jobs_text(read, {}, kJobsNow + 4 * kOneSecond);
  EXPECT_EQ(text, jobs_text(read, {}, kJobsNow));
  EXPECT_EQ(
      jobs_text(read, {}, kJobsNow + 75 * kOneSecond),
      text + "  as of 1 min 15 s ago: reading the logs takes so long that it is done seldom\n");
}

TEST(JobsText, NamesNoRankWhoseLogWasReadBeforeThoseOfTheOthers) {
  RunningJob job = two_ranks();
  job.recent->ranks[1].last_step_ns = kJobsNow + 20 * kOneSecond;  // it was read 20 s later
  EXPECT_EQ(jobs_text({kJobsNow, {job}}, {}, kJobsNow),
            jobs_text({kJobsNow, {two_ranks()}}, {}, kJobsNow));
}

TEST(JobsText, SaysWhatIsNotThere) {
  EXPECT_EQ(jobs_text({kJobsNow, {}}, {}, kJobsNow), "");
  RunningJob job = two_ranks();
  job.recent->samples_per_s = job.recent->data_wait_share = std::nullopt;
  job.recent->most_silent = std::nullopt;
  job.unreadable_logs = {"/home/me/logs/rank1.steps.redline: no step log"};
  const std::string text = jobs_text({kJobsNow, {job}}, {}, kJobsNow);
  EXPECT_THAT(text, HasSubstr("10.9        n/a    n/a           ended\n"));
  EXPECT_THAT(text,
              HasSubstr("  1 log left out: /home/me/logs/rank1.steps.redline: no step log\n"));
  job.recent = std::nullopt;
  EXPECT_THAT(jobs_text({kJobsNow, {job}}, {}, kJobsNow), HasSubstr("no step yet\n"));
}

/// Reads two jobs in 4 s: one makes steps, the other has made none for longer than a minute.
class JobWatcherTest : public ::testing::Test {
 protected:
  std::vector<RunningJob> read() {
    ++reads_;
    clock_ns_ += 4 * kOneSecond;
    RunningJob silent = two_ranks();
    for (RecentRank& rank : silent.recent->ranks) rank.last_step_ns -= 60 * kOneSecond;
    return {two_ranks(), silent};
  }

  int reads_ = 0;
  int64_t clock_ns_ = 0;
  JobWatcher watcher_{[this] { return read(); }, [this] { return clock_ns_; }};
};

TEST_F(JobWatcherTest, KnowsOfNoSilenceAfterTheReading) {
  EXPECT_EQ(watcher_.look(kJobsNow).jobs[0].recent->steps_per_s, 10.9);
  clock_ns_ += 75 * kOneSecond;
  const ReadJobs& later = watcher_.look(kJobsNow + 79 * kOneSecond);
  EXPECT_EQ(later.read_ns, kJobsNow);
  EXPECT_EQ(later.jobs[0].recent->steps_per_s, 10.9);
  EXPECT_EQ(later.jobs[1].recent->steps_per_s, 0);
  EXPECT_EQ(reads_, 1);
}

TEST_F(JobWatcherTest, ReadsAgainAfter19TimesTheReading) {
  EXPECT_EQ(watcher_.look(kJobsNow).read_ns, kJobsNow);
  clock_ns_ += 76 * kOneSecond;
  EXPECT_EQ(watcher_.look(kJobsNow + 80 * kOneSecond).read_ns, kJobsNow + 80 * kOneSecond);
  EXPECT_EQ(reads_, 2);
}

TEST(JobWatching, AJobIsGoneThoughWhatItHasStartedLivesOn) {
  RunningJob over = two_ranks();
  for (RecentRank& rank : over.recent->ranks) {
    rank.ended = true;
    rank.exit_status = 0;
  }
  RunningJob unknown = over;
  unknown.unreadable_logs = {"rank1.steps.redline: no step log"};
  JobWatcher watcher([&] { return std::vector{over, two_ranks(), unknown}; });
  EXPECT_EQ(watcher.look(kJobsNow).jobs.size(), 3U);
  JobWatcher later([&] { return std::vector{over, two_ranks(), unknown}; });
  const std::vector<RunningJob>& jobs = later.look(kJobsNow + 75 * kOneSecond).jobs;
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_FALSE(jobs[0].recent->ranks[0].ended);
  EXPECT_EQ(jobs[1].unreadable_logs.size(), 1U);
}

TEST(JobsJson, IsNullWhereNothingIsKnown) {
  const auto json = jobs_json({kJobsNow, {two_ranks()}});
  EXPECT_EQ(json[0]["folder"], "/home/me/logs");
  EXPECT_EQ(json[0]["read_ns"], kJobsNow);
  EXPECT_EQ(json[0]["steps"], 41'200);
  EXPECT_TRUE(json[0]["tokens_per_s"].is_null());
  EXPECT_TRUE(json[0]["slowest_rank"].is_null());
  EXPECT_EQ(json[0]["ranks"][0]["own_ns"], 80'000'000);
  EXPECT_TRUE(json[0]["ranks"][1]["own_ns"].is_null());
  RunningJob without_step = two_ranks();
  without_step.recent = std::nullopt;
  const auto first = jobs_json({kJobsNow, {without_step}});
  for (const auto& [key, value] : json[0].items()) EXPECT_TRUE(first[0].contains(key)) << key;
  EXPECT_TRUE(first[0]["steps"].is_null());
  EXPECT_TRUE(first[0]["ranks"].empty());
}

TEST(JobsPrometheus, WritesEachFigureOnceWithItsComments) {
  RunningJob other = two_ranks();
  other.folder = "/a\"b\\c\n\xfcr";  // Prometheus takes UTF-8 only
  other.run = "18.1";
  other.recent->ranks.resize(1);
  const std::string text = jobs_prometheus({kJobsNow, {two_ranks(), other}});
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
  EXPECT_THAT(text, HasSubstr("job_read_timestamp_seconds{run=\"17.1\",log=\"/home/me/logs\"} "
                              "1700000100\n"));
  EXPECT_THAT(text, Not(HasSubstr("tokens")));
}

TEST(JobsPrometheus, ARankThatHasEndedIsNoneThatHangs) {
  RunningJob job = two_ranks();
  job.recent->ranks[1].ended = true;
  const std::string text = jobs_prometheus({kJobsNow, {job}});
  EXPECT_THAT(text, ContainsRegex("last_step_timestamp_seconds.*rank=\"0\""));
  EXPECT_THAT(text, Not(ContainsRegex("last_step_timestamp_seconds.*rank=\"3\"")));
  EXPECT_THAT(text, ContainsRegex("rank_memory_bytes.*rank=\"3\""));
}

TEST(JobsPrometheus, AJobWithoutAStepHasNoFigures) {
  EXPECT_EQ(jobs_prometheus({kJobsNow, {{.folder = "logs", .run = "1"}}}), "");
}

}  // namespace
}  // namespace redline::trace
