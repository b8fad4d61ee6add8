#include "trace/analysis/ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <tuple>

#include "tests/parsed_trace.h"
#include "tests/trace_text.h"
#include "trace/read/reader.h"

namespace redline::trace {
namespace {

using namespace redline::testing;

// Synthetic ranks of a job. They enter each all-reduce at their own times, leave it together except
// for some jitter, and write times of their own clocks.
class SyntheticRanks {
 public:
  explicit SyntheticRanks(size_t ranks) : clocks_(ranks), texts_(ranks) {
    for (size_t i = 0; i < ranks; ++i) {
      texts_[i].rank(static_cast<int>(i), static_cast<int>(ranks));
    }
  }

  SyntheticRanks& clock(size_t rank, int64_t ahead_ns, double drift = 0) {
    clocks_[rank] = {ahead_ns, drift};
    return *this;
  }
  SyntheticRanks& jitter(int64_t deviation_ns) {
    jitter_ = std::normal_distribution<double>(0, static_cast<double>(deviation_ns));
    return *this;
  }

  /// Adds an all-reduce that each rank enters at its time in `begins` (true times) and leaves at
  /// `end_ns`. The traces of ranks in `without` lack it.
  SyntheticRanks& all_reduce(const std::vector<int64_t>& begins, int64_t end_ns,
                             const std::vector<size_t>& without = {},
                             const std::string& args = "") {
    for (size_t rank = 0; rank < texts_.size(); ++rank) {
      const auto late_ns = std::llround(std::abs(jitter_(random_)));
      if (std::find(without.begin(), without.end(), rank) != without.end()) continue;
      texts_[rank].kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", seen_by(rank, begins[rank]),
                          seen_by(rank, end_ns + late_ns), on_stream(9, 0, args));
    }
    return *this;
  }

  [[nodiscard]] RankComparison compare() {
    for (const TraceText& text : texts_) {
      analyses_.push_back(analyze(*parse_trace("rank", text.str())));
    }
    const auto ranks = pointers_to(analyses_);
    return *compare_ranks(ranks, rank_numbers(ranks));
  }

  TraceText& text(size_t rank) { return texts_[rank]; }
  [[nodiscard]] int64_t seen_by(size_t rank, int64_t true_ns) const {
    const auto& [ahead_ns, drift] = clocks_[rank];
    return true_ns + ahead_ns + std::llround(drift * static_cast<double>(true_ns));
  }

 private:
  struct Clock {
    int64_t ahead_ns = 0;
    double drift = 0;
  };
  std::vector<Clock> clocks_;
  std::vector<TraceText> texts_;
  std::vector<Analysis> analyses_;
  std::mt19937 random_{7};
  std::normal_distribution<double> jitter_{0, 1e-9};
};

constexpr int64_t kStart = 1'000'000'000;

TEST(ClockAlignment, FindsTheOffsetToTheNanosecondWithoutJitter) {
  SyntheticRanks job(2);
  job.clock(1, 123'456);
  for (int64_t i = 0; i < 10; ++i) {
    const int64_t at = kStart + i * 1'000'007;
    job.all_reduce({at + i % 2 * 15'000, at + 5'000}, at + 50'003);
  }
  const RankComparison comparison = job.compare();
  ASSERT_TRUE(comparison.clocks[1]);
  EXPECT_EQ(comparison.clocks[0]->offset_ns, 0);
  EXPECT_EQ(comparison.clocks[1]->offset_ns, -123'456);
  EXPECT_EQ(comparison.clocks[1]->uncertainty_ns, 1);
  EXPECT_EQ(comparison.clocks[1]->pairs, 10);
  EXPECT_EQ(comparison.clocks[1]->drift, 0);
}

// The interval must contain the true offset about as often as it claims.
TEST(ClockAlignment, TheTruthIsWithinTheUncertainty) {
  int within = 0;
  constexpr int kClocks = 100;
  SyntheticRanks job(kClocks + 1);
  job.jitter(3'000);
  for (size_t rank = 1; rank <= kClocks; ++rank) job.clock(rank, 10'000 * int64_t(rank));
  for (int64_t i = 0; i < 60; ++i) {
    const int64_t at = kStart + i * 2'000'000;
    job.all_reduce(std::vector<int64_t>(kClocks + 1, at), at + 400'000);
  }
  const RankComparison comparison = job.compare();
  for (size_t rank = 1; rank <= kClocks; ++rank) {
    const ClockOffset& clock = *comparison.clocks[rank];
    const int64_t error_ns = std::abs(clock.offset_ns + 10'000 * int64_t(rank));
    EXPECT_LT(error_ns, 2'000);
    EXPECT_LT(clock.uncertainty_ns, 2'000);
    within += error_ns <= clock.uncertainty_ns ? 1 : 0;
  }
  EXPECT_GE(within, 85);
}

// Who waits is woken up late, on each machine by another time. Some jobs have a rank that nearly
// always comes last, and then the wake-ups look like an offset.
TEST(ClockAlignment, TheTruthIsWithinTheUncertaintyThoughWhoWaitsLeavesLate) {
  std::mt19937_64 random(11);
  const auto between = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  constexpr int kJobs = 1000;
  int within = 0, wide = 0;
  for (int job = 0; job < kJobs; ++job) {
    const int64_t truth_ns = between(-50 * kMs, 50 * kMs);
    const int64_t exchange_ns = between(20'000, 400'000), jitter_ns = between(0, 30'000);
    const int64_t most_ns = std::min<int64_t>(exchange_ns, 100'000);
    const std::array<int64_t, 2> wakes_ns = {between(0, most_ns), between(0, most_ns)};
    const int64_t percent_of_second_last =
        std::array{0, 10, 50, 100}[static_cast<size_t>(between(0, 3))];
    std::vector<CollectiveEnds> pairs;
    for (int64_t i = 0, count = between(6, 60); i < count; ++i) {
      const size_t last = between(1, 100) <= percent_of_second_last ? 1 : 0;
      const int64_t met_ns = kStart + i * 10 * kMs;
      std::array<Interval, 2> calls;
      for (size_t rank = 0; rank < 2; ++rank) {
        const bool waits = rank != last;
        calls[rank] = {met_ns - (waits ? between(0, kMs) : 0),
                       met_ns + exchange_ns + between(0, jitter_ns) + (waits ? wakes_ns[rank] : 0)};
      }
      pairs.push_back({calls[0], {calls[1].begin_ns - truth_ns, calls[1].end_ns - truth_ns}});
    }
    const ClockOffset clock = *estimate_offset(pairs);
    within += std::abs(clock.offset_ns - truth_ns) <= clock.uncertainty_ns ? 1 : 0;
    wide += clock.uncertainty_ns > exchange_ns + jitter_ns ? 1 : 0;
  }
  EXPECT_GE(within, kJobs * 95 / 100);
  EXPECT_LE(wide, kJobs * 5 / 100) << "a bound that is always wide says nothing";
}

TEST(ClockAlignment, OutliersDoNotPullIt) {
  SyntheticRanks job(2);
  job.clock(1, -40'000).jitter(500);
  for (int64_t i = 0; i < 40; ++i) {
    const int64_t at = kStart + i * 1'000'000;
    job.all_reduce({at, at}, at + 300'000);
    if (i % 4 == 0) {  // a rank that was descheduled before it noticed the end
      job.text(0).kernel("ncclDevKernel_AllGather_RING_LL", at + 400'000, at + 410'000,
                         on_stream(9));
      job.text(1).kernel("ncclDevKernel_AllGather_RING_LL", at + 360'000, at + 900'000,
                         on_stream(9));
    }
  }
  const RankComparison comparison = job.compare();
  EXPECT_LT(std::abs(comparison.clocks[1]->offset_ns - 40'000), 500);
  EXPECT_GE(comparison.clocks[1]->outliers, 10);
}

TEST(ClockAlignment, FollowsAClockThatDrifts) {
  SyntheticRanks job(2);
  job.clock(1, 70'000, 20e-6).jitter(1'000);
  for (int64_t i = 0; i < 200; ++i) {
    const int64_t at = i * 100'000'000;
    job.all_reduce({at, at}, at + 300'000);
  }
  const RankComparison comparison = job.compare();
  const ClockOffset& clock = *comparison.clocks[1];
  EXPECT_NEAR(clock.drift, -20e-6, 0.2e-6);
  for (const int64_t true_ns : {int64_t(0), int64_t(10'000'000'000), int64_t(20'000'000'000)}) {
    const int64_t seen_ns = job.seen_by(1, true_ns);
    EXPECT_LT(std::abs(seen_ns + clock.at(seen_ns) - true_ns), 1'500);
  }
}

TEST(ClockAlignment, SequenceNumbersMatchWhatOrdinalsWouldNot) {
  SyntheticRanks job(2);
  job.clock(1, 5'000);
  for (int i = 0; i < 20; ++i) {
    const int64_t at = kStart + i * 1'000'000;
    const bool lost = i < 3;  // rank 1 began to record later
    job.all_reduce({at, at}, at + 300'000, lost ? std::vector<size_t>{1} : std::vector<size_t>{},
                   fmt::format("\"Seq\": {}", i + 100));
  }
  const RankComparison comparison = job.compare();
  EXPECT_EQ(comparison.matched.by, MatchedBy::kSequenceNumber);
  EXPECT_EQ(comparison.clocks[1]->offset_ns, -5'000);
  EXPECT_EQ(comparison.clocks[1]->pairs, 17);
}

TEST(ClockAlignment, StepNumbersMatchRecordingsOfDifferentSteps) {
  SyntheticRanks job(2);
  job.clock(1, 5'000);
  for (int i = 0; i < 8; ++i) {
    const int64_t at = kStart + i * 1'000'000;
    const std::vector<size_t> lost = i < 2   ? std::vector<size_t>{1}
                                     : i > 5 ? std::vector<size_t>{0}
                                             : std::vector<size_t>{};
    job.all_reduce({at + 100'000, at + 100'000}, at + 300'000 + i, lost);
    if (i >= 2) job.text(1).step(i, at + 5'000, at + 1'000'000);
    if (i <= 5) job.text(0).step(i, at, at + 990'000);
  }
  const RankComparison comparison = job.compare();
  EXPECT_EQ(comparison.matched.by, MatchedBy::kStep);
  EXPECT_EQ(comparison.clocks[1]->offset_ns, -5'000);
  EXPECT_EQ(comparison.clocks[1]->pairs, 4);
}

TEST(ClockAlignment, WithoutNumbersARecordingThatBeganLaterIsNotMatched) {
  SyntheticRanks job(2);
  for (int i = 0; i < 20; ++i) {
    const int64_t at = kStart + i * 1'000'000;
    job.all_reduce({at, at}, at + 300'000, i < 1 ? std::vector<size_t>{1} : std::vector<size_t>{});
  }
  const RankComparison comparison = job.compare();
  EXPECT_EQ(comparison.matched.by, MatchedBy::kOrdinal);
  EXPECT_FALSE(comparison.clocks[1]);
}

TEST(ClockAlignment, GoesOverRanksThatShareAGroup) {
  SyntheticRanks job(3);
  job.clock(1, 1'000).clock(2, 3'000);
  for (int64_t i = 0; i < 9; ++i) {
    const int64_t at = kStart + i * 1'000'000;
    job.all_reduce({at, at, at}, at + 100'000, {2}, R"("Process Group Name": "a")");
    job.all_reduce({at + 500, at + 500, at + 500}, at + 200'000, {0},
                   R"("Process Group Name": "b")");
  }
  const RankComparison comparison = job.compare();
  ASSERT_TRUE(comparison.clocks[2]);
  EXPECT_EQ(comparison.clocks[2]->offset_ns, -3'000);
}

TEST(ClockAlignment, NothingInCommonIsNoOffset) {
  SyntheticRanks job(2);
  job.all_reduce({kStart, kStart}, kStart + 10, {1});
  job.text(1).kernel("ncclDevKernel_Broadcast_RING_LL", 5, 10, on_stream(9));
  const RankComparison comparison = job.compare();
  EXPECT_TRUE(comparison.clocks[0]);
  EXPECT_FALSE(comparison.clocks[1]);
  EXPECT_FALSE(comparison.waits);
}

// PyTorch of about 2.2 writes sizes of groups, but no names: here two pairs of ranks with one
// clock.
TEST(ClockAlignment, CallsOfAPartOfTheJobWithoutANameAreNotMatched) {
  const auto compare = [](bool all_reduce_too) {
    SyntheticRanks job(4);
    for (int64_t i = 0; i < 10; ++i) {
      const int64_t at = kStart + i * 10'000'000, later = at + 3'000'000;
      const std::vector<int64_t> first(4, at), second(4, later), all(4, at + 8'000'000);
      job.all_reduce(first, at + 900'000, {2, 3}, R"("Group size": 2)");
      job.all_reduce(second, later + 900'000, {0, 1}, R"("Group size": 2)");
      if (all_reduce_too) job.all_reduce(all, all[0] + 900'000, {}, R"("Group size": 4)");
    }
    return job.compare();
  };
  const RankComparison parts = compare(false);
  EXPECT_FALSE(parts.waits);
  for (size_t rank = 1; rank < 4; ++rank) EXPECT_FALSE(parts.clocks[rank]) << rank;
  const RankComparison whole = compare(true);
  ASSERT_TRUE(whole.waits);
  EXPECT_EQ(whole.waits->collectives, 10);
  for (size_t rank = 0; rank < 4; ++rank) EXPECT_EQ(whole.clocks[rank]->offset_ns, 0) << rank;
}

TEST(ClockAlignment, AFirstRankWithoutCollectivesIsNoReference) {
  SyntheticRanks job(3);
  job.clock(2, 3'000);
  job.all_reduce({kStart, kStart, kStart}, kStart + 100'000, {0});
  const RankComparison comparison = job.compare();
  EXPECT_FALSE(comparison.clocks[0]);
  ASSERT_TRUE(comparison.clocks[1] && comparison.clocks[2]);
  EXPECT_TRUE(comparison.clocks[1]->is_reference());
  EXPECT_EQ(comparison.clocks[2]->offset_ns, -3'000);
  EXPECT_TRUE(comparison.waits);
}

TEST(ClockAlignment, HostileTimesAreNoPairs) {
  SyntheticRanks job(2);
  for (size_t rank = 0; rank < 2; ++rank) {
    job.text(rank).event(
        R"({"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_RING_LL", "pid": 0, )"
        R"("tid": 7, "ts": -9223372036854775, "dur": 9223372036854775, "args": {}})");
  }
  EXPECT_FALSE(job.compare().clocks[1]);
}

TEST(RankWaits, EveryoneWaitsForTheLastToArrive) {
  SyntheticRanks job(3);
  job.clock(1, 1'000'000).clock(2, -77);
  for (int64_t i = 0; i < 10; ++i) {
    const int64_t at = kStart + i * 10'000'000;
    job.all_reduce({at, at + 300, at + 1'000}, at + 2'000);
  }
  job.all_reduce({kStart * 2, kStart * 2 + 50, kStart * 2}, kStart * 2 + 100);
  const RankComparison comparison = job.compare();
  ASSERT_TRUE(comparison.waits);
  const RankWaits& waits = *comparison.waits;
  EXPECT_EQ(waits.collectives, 11);
  EXPECT_THAT(waits.ns, ::testing::ElementsAre(::testing::ElementsAre(0, 50, 10'000),
                                               ::testing::ElementsAre(0, 0, 7'000),
                                               ::testing::ElementsAre(0, 50, 0)));
  EXPECT_EQ(waits.most_awaited(), 2U);
  EXPECT_EQ(waits.max_spread_ns, 1'000);
  EXPECT_EQ(waits.mean_spread_ns, 10'050 / 11);
}

TEST(RankWaits, CallsThatWereNeverUnderWayTogetherAreNotOneCollective) {
  SyntheticRanks job(2);
  for (int64_t i = 0; i < 10; ++i) {
    const int64_t at = kStart + i * 10'000'000;
    job.all_reduce({at, at + 300}, at + 2'000);
  }
  job.text(0).kernel("ncclDevKernel_AllGather_RING_LL", kStart - 500'000, kStart - 400'000,
                     on_stream(9));
  job.text(1).kernel("ncclDevKernel_AllGather_RING_LL", kStart - 300'000, kStart - 200'000,
                     on_stream(9));
  const RankComparison comparison = job.compare();
  EXPECT_EQ(comparison.waits->collectives, 10);
  EXPECT_EQ(comparison.waits->mismatched, 1);
  EXPECT_EQ(comparison.waits->ns[0][1], 3'000);
}

// Two ranks of one host have the same clock. Events were left out at random, and time stamps are
// whole microseconds.
TEST(ClockAlignment, TwoRanksOfOneHost) {
  std::vector<Analysis> analyses;
  for (const int rank : {0, 1}) {
    const auto trace = real_trace(fmt::format("fsdp_sampled_rank{}", rank));
    if (!trace) GTEST_SKIP() << "no shared traces here";
    analyses.push_back(analyze(trace));
  }
  const auto ranks = pointers_to(analyses);
  const RankComparison comparison = *compare_ranks(ranks, rank_numbers(ranks));
  ASSERT_TRUE(comparison.clocks[1]);
  const ClockOffset& clock = *comparison.clocks[1];
  EXPECT_EQ(comparison.matched.by, MatchedBy::kStep);
  EXPECT_LE(std::abs(clock.offset_ns), clock.uncertainty_ns);
  EXPECT_LT(clock.uncertainty_ns, 1'000'000);
}

// Two ranks with a step each. Of the second, one part takes 60 ms longer; the first waits for it.
RankComparison of_late_rank(WorkPart part) {
  constexpr int64_t kLong = 60 * kMs;
  std::vector<Analysis> analyses;
  for (int rank = 0; rank < 2; ++rank) {
    int64_t now_ns = 0;
    const auto next = [&](WorkPart own, int64_t length_ns) {
      const int64_t begin_ns = now_ns;
      now_ns += length_ns + (rank == 1 && own == part ? kLong : 0);
      return std::pair(begin_ns, now_ns);
    };
    TraceText text;
    text.rank(rank, 2).step(0, 0, 200 * kMs);
    auto [begin_ns, end_ns] = next(WorkPart::kDataLoader, 10 * kMs);
    text.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", begin_ns,
                    end_ns);
    next(WorkPart::kHost, 10 * kMs);
    // A slow Python hook runs between two operators.
    std::tie(begin_ns, end_ns) = next(WorkPart::kForward, 30 * kMs);
    text.cpu_op("aten::linear", begin_ns, begin_ns + 10 * kMs);
    text.cpu_op("aten::relu", end_ns - 10 * kMs, end_ns);
    std::tie(begin_ns, end_ns) = next(WorkPart::kBackward, 40 * kMs);
    text.cpu_op("autograd::engine::evaluate_function: ReluBackward0", begin_ns, begin_ns + 10 * kMs,
                {.tid = "2"});
    text.cpu_op("autograd::engine::evaluate_function: AddmmBackward0", end_ns - 10 * kMs, end_ns,
                {.tid = "2"});
    text.slice("user_annotation", "gloo:all_reduce", end_ns,
               rank == 0 ? end_ns + kLong : end_ns + kMs, {.tid = "3"});
    now_ns = rank == 0 ? end_ns + kLong : end_ns + kMs;
    if (part == WorkPart::kOptimizer && rank == 0) now_ns -= kLong;
    std::tie(begin_ns, end_ns) = next(WorkPart::kOptimizer, 10 * kMs);
    text.annotation("Optimizer.step#SGD.step", begin_ns, end_ns);
    analyses.push_back(analyze(*parse_trace("rank", text.str())));
  }
  const auto ranks = pointers_to(analyses);
  return *compare_ranks(ranks, rank_numbers(ranks));
}

TEST(LateRank, IsLateInThePartThatTakesLonger) {
  for (size_t part = 0; part < kWorkPartNames.size(); ++part) {
    const RankComparison comparison = of_late_rank(static_cast<WorkPart>(part));
    EXPECT_EQ(comparison.straggler, 1) << kWorkPartNames[part];
    ASSERT_TRUE(comparison.late_in);
    EXPECT_EQ(kWorkPartNames[static_cast<size_t>(*comparison.late_in)], kWorkPartNames[part]);
  }
}

TEST(LateRank, ATraceWithoutANumberHasOneThatNoOtherHas) {
  const auto numbers = [](std::vector<std::optional<int>> said) {
    std::vector<RankSummary> traces(said.size());
    for (size_t i = 0; i < said.size(); ++i) traces[i].facts.rank = said[i];
    return rank_numbers(pointers_to(traces));
  };
  EXPECT_EQ(numbers({{}, {}}), (std::vector{0, 1}));
  EXPECT_EQ(numbers({0, 2, {}}), (std::vector{0, 2, 1}));
  EXPECT_EQ(numbers({{}, 0, {}, 2, 2, {}}), (std::vector{1, 0, 3, 2, 2, 4}));
}

TEST(LateRank, WindowsOfAProcessAreOfOneRank) {
  const auto numbers = [](const std::string& host, std::vector<std::string> processes) {
    std::vector<RankSummary> traces(processes.size());
    for (size_t i = 0; i < processes.size(); ++i) {
      TraceFacts& facts = traces[i].facts;
      facts.host = host;
      facts.recorded.process = processes[i].empty() ? "" : host + " " + processes[i];
      facts.begin_ns = 100 * static_cast<int64_t>(i / 2);
      facts.end_ns = facts.begin_ns + 100;
    }
    traces.back().facts.rank = 1;
    return rank_numbers(pointers_to(traces));
  };
  EXPECT_EQ(numbers("node", {"8", "8", "9", "8", "", "", "8"}), (std::vector{0, 0, 2, 0, 3, 4, 1}));
  EXPECT_EQ(numbers("", {"8", "8", "8", "9", "8"}), (std::vector{0, 2, 0, 3, 1}))
      << "a PID of which two record at once is that of two containers";
}

TEST(RecordingsToCompare, AreTheLastOrAllOfOneTime) {
  const auto chosen = [](const std::vector<RankRecording>& recordings) {
    return recordings_to_compare(recordings);
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(chosen({{0, 10, true}, {0, 70, true}, {1, 11, true}, {1, 71, true}}),
              ElementsAre(1U, 3U));
  EXPECT_THAT(chosen({{0, 10, true}, {0, 70, true}, {1, 70, true}, {1, 130, true}}),
              ElementsAre(1U, 3U))
      << "their clocks may differ";
  EXPECT_THAT(chosen({{0, 10, true}, {0, 70, true}, {1, 11, true}}), ElementsAre(0U, 2U));
  EXPECT_THAT(chosen({{0, 10, true}, {1, 11, true}, {1, 70, true}}), ElementsAre(0U, 1U));
  EXPECT_THAT(chosen({{0, 10, true}, {0, 70, true}, {1, 69, true}}), ElementsAre(1U, 2U));
  EXPECT_THAT(chosen({{0, 10, true}, {0, 70, true}, {1, 11, true}, {1, 71, false}}),
              ElementsAre(0U, 2U));
  EXPECT_THAT(chosen({{1, 10, false}, {1, 70, true}, {0, 71, true}}), ElementsAre(1U, 2U));
  EXPECT_THAT(chosen({{0, 10, true}, {0, 70, true}, {1, 11, true}, {2, 5, false}}),
              ElementsAre(0U, 2U, 3U));
  EXPECT_THAT(chosen({{0, INT64_MIN, true}, {0, INT64_MAX, true}, {1, INT64_MAX - 1, true}}),
              ElementsAre(1U, 2U));
  EXPECT_TRUE(chosen({}).empty());
}

TEST(LateRank, PartsSumToTheOwnWork) {
  const Analysis analysis = redline::testing::analysis_of(
      TraceText()
          .step(0, 0, 100)
          .annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 5, 15)
          .cpu_op("aten::linear", 20, 30)
          .runtime("cudaLaunchKernel", 22, 24, 1)
          .cpu_op("aten::relu", 34, 40)
          .kernel("gemm", 36, 50, on_stream(7, 1))
          .kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 45, 70, on_stream(9))
          .annotation("Optimizer.step#SGD.step", 80, 90));
  const OwnWork work = own_work(*analysis.trace, analysis.device_work, analysis.host_tree,
                                analysis.steps, analysis.communication.exposed);
  // 10 of the loader; 20 to 50 of forward with the gap between its operators; 10 of the optimizer;
  // 5 + 5 + 10 + 10 of nothing known. 50 to 70 is exposed communication.
  EXPECT_THAT(work, ::testing::ElementsAre(10, 30, 0, 10, 30));
}

TEST(LateRank, SlowerEverywhereIsTheMachine) {
  const OwnWork other = {5, 100, 200, 50, 20};
  EXPECT_EQ(find_late_part({5, 150, 300, 75, 30}, other), WorkPart::kHost);
  // Longer sequences, but as many parameters.
  EXPECT_EQ(find_late_part({5, 150, 300, 50, 20}, other), WorkPart::kBackward);
  EXPECT_EQ(find_late_part({5, 100, 300, 50, 20}, other), WorkPart::kBackward);
  EXPECT_FALSE(find_late_part({0, 0, 0, 0, 30}, {0, 0, 0, 0, 20})) << "nobody knows what it does";
  EXPECT_FALSE(find_late_part(other, other));
}

TEST(ClockAlignment, RanksOfOneHostHaveOneClock) {
  const HostClock first{"node1", kStart};
  const auto offset_to = [&](const HostClock& rank) { return offset_on_one_host(first, rank); };
  EXPECT_EQ(offset_to({"node1", kStart + 300}).value().offset_ns, 0);
  // Somebody set the time of day a little between the starts of the ranks.
  EXPECT_EQ(offset_to({"node1", kStart + 5000}).value().offset_ns, -5000);
  EXPECT_FALSE(offset_to({"node1", 2 * kStart})) << "another machine of this name";
  EXPECT_FALSE(offset_to({"node2", kStart}));
  EXPECT_FALSE(offset_to({"node1", std::nullopt}));
  EXPECT_FALSE(offset_on_one_host({"", kStart}, {"", kStart}));
}

TEST(ClockAlignment, AnOddClockIsNone) {
  const auto offset_in = [](const std::string& clocks) {
    Metadata metadata;
    metadata.top_level_json = R"({"redline": {"clocks": )" + clocks + "}}";
    return host_clock(metadata).offset_ns;
  };
  EXPECT_EQ(offset_in(R"([{"realtime_ns": 70, "monotonic_ns": 20}, {}])"), 50);
  for (const char* clocks : {"[]", "{}", "[7]", R"([{"realtime_ns": 70}])",
                             R"([{"realtime_ns": 70, "monotonic_ns": -20}])",
                             R"([{"realtime_ns": 9223372036854775807, "monotonic_ns": 20}])",
                             R"([{"realtime_ns": 18446744073709551615, "monotonic_ns": 20}])",
                             R"([{"realtime_ns": 7e3, "monotonic_ns": 20}])"}) {
    EXPECT_FALSE(offset_in(clocks)) << clocks;
  }
}

TEST(ClockAlignment, AHostIsReachedOverAnyOfItsRanks) {
  // Only ranks 0 and 1 have collectives. Ranks 1 and 2 are of one host.
  SyntheticRanks ranks(3);
  ranks.clock(1, -250'000);
  for (int i = 0; i < 10; ++i) {
    const int64_t begin_ns = kStart + i * 10 * kMs;
    ranks.all_reduce({begin_ns, begin_ns + 1000, 0}, begin_ns + kMs, {2});
  }
  ranks.text(2).cpu_op("aten::mm", kStart, kStart + kMs);
  const std::string clock =
      R"("redline": {"clocks": [{"realtime_ns": 5000000000000, "monotonic_ns": 70000}]})";
  for (const size_t rank : {1U, 2U}) {
    ranks.text(rank).top(R"("host_name": "node2")").top(clock);
  }
  const RankComparison comparison = ranks.compare();
  ASSERT_TRUE(comparison.clocks[2]);
  EXPECT_EQ(comparison.clocks[2]->offset_ns, comparison.clocks[1]->offset_ns);
  EXPECT_EQ(comparison.clocks[2]->offset_ns, 250'000);
  EXPECT_GE(comparison.clocks[2]->uncertainty_ns, 1000);
}

}  // namespace
}  // namespace redline::trace
