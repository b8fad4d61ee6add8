#include "tuner/search/frontier.h"

#include <gtest/gtest.h>

#include "tuner/search/testing_history.h"
#include "tuner/trial/host_memory.h"

namespace redline::tuner {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

class HostPrediction : public ::testing::Test {
 protected:
  static Config config(int batch, int workers, int prefetch) {
    return {{"batch_size", std::to_string(batch)},
            {"num_workers", std::to_string(workers)},
            {"prefetch_factor", std::to_string(prefetch)}};
  }

  /// A trial that used 2 GiB, 300 MiB for each worker, 3 MiB for each sample, and half a MiB of
  /// /dev/shm for each waiting sample.
  void ran(int batch, int workers, int prefetch, uint64_t fixed_shm = 0) {
    const auto shm = static_cast<uint64_t>(batch * workers * prefetch) * kMiB / 2 + fixed_shm;
    TrialResult result = ran_at(1);
    result.host_use = HostUse{.memory_bytes = (2048 + 300 * static_cast<uint64_t>(workers) +
                                               3 * static_cast<uint64_t>(batch)) *
                                                  kMiB +
                                              shm,
                              .shm_bytes = shm};
    add_trial(history_, config(batch, workers, prefetch), result);
  }

  Space space_ = *make_space({"batch_size=1..4096", "num_workers=0..64", "prefetch_factor=1..16"},
                             {"python", "train.py"}, {});
  History history_{space_};
};

TEST_F(HostPrediction, FollowsWorkersPrefetchAndBatch) {
  ran(32, 0, 2);
  ran(32, 4, 2);
  EXPECT_FALSE(predict_host_use(history_, config(512, 16, 4))) << "two trials tell too little";
  ran(128, 4, 2);
  const auto use = predict_host_use(history_, config(512, 16, 4));
  ASSERT_TRUE(use);
  EXPECT_EQ(use->shm_bytes / kMiB, 512U * 16 * 4 / 2);
  const double wanted = 2048 + 300 * 16 + 3 * 512 + 512 * 16 * 2;
  EXPECT_NEAR(static_cast<double>(use->memory_bytes) / static_cast<double>(kMiB), wanted,
              0.02 * wanted);
}

TEST_F(HostPrediction, KnowsTheScriptsOwnWorkersWhereOnlyTheBatchIsSearched) {
  space_ = *make_space({"batch_size=1..4096"}, {"python", "train.py"}, {});
  for (const uint64_t batch : {32U, 64U, 128U}) {
    const uint64_t shm = 4 * 3 * batch * kMiB / 2;
    TrialResult result = ran_at(1);
    result.observed = config(static_cast<int>(batch), 4, 3);
    result.host_use = HostUse{.memory_bytes = (2048 + 3 * batch) * kMiB + shm, .shm_bytes = shm};
    add_trial(history_, {{"batch_size", std::to_string(batch)}}, result);
  }
  EXPECT_EQ(batches_in_flight(history_, {}), 12);
  const auto use = predict_host_use(history_, {{"batch_size", "512"}});
  ASSERT_TRUE(use);
  EXPECT_EQ(use->shm_bytes / kMiB, 4U * 3 * 512 / 2);
}

TEST_F(HostPrediction, WhatRanksShareDoesNotGrowWithTheBatches) {
  for (const int batch : {32, 64, 128}) ran(batch, 1, 2, 200 * kMiB);
  const auto use = predict_host_use(history_, config(512, 16, 4));
  ASSERT_TRUE(use);
  EXPECT_EQ(use->shm_bytes / kMiB, 512U * 16 * 4 / 2 + 200);
}

TEST_F(HostPrediction, WhatRanNeedsNone) {
  ran(32, 0, 2);
  ran(32, 4, 2);
  ran(128, 4, 2);
  EXPECT_FALSE(predict_host_use(history_, config(128, 4, 2)));
  EXPECT_FALSE(predict_host_use(history_, config(64, 2, 2)));
  EXPECT_TRUE(predict_host_use(history_, config(64, 2, 16)));
}

TEST_F(HostPrediction, SaysWhatIsLacking) {
  const HostRoom room{.memory_bytes = 8192 * kMiB, .shm_bytes = 1024 * kMiB};
  EXPECT_FALSE(lacking({.memory_bytes = 10000 * kMiB, .shm_bytes = 1200 * kMiB}, room))
      << "it may fit";
  const HostUse shm{.memory_bytes = 100 * kMiB, .shm_bytes = 2048 * kMiB};
  EXPECT_EQ(lacking(shm, room), Outcome::kShmFull);
  EXPECT_EQ(lacking_text(shm, room), "not started: needs 2.0 GiB of /dev/shm, 1.0 GiB free");
  const HostUse memory{.memory_bytes = 11264 * kMiB, .shm_bytes = 0};
  EXPECT_EQ(lacking(memory, room), Outcome::kHostOom);
  EXPECT_EQ(lacking_text(memory, room), "not started: needs 11.0 GiB of host memory, 8.0 GiB free");
  EXPECT_FALSE(lacking(memory, {})) << "nothing is known of this host";
}

TEST_F(HostPrediction, TheFrontierTakesItForTheWorkersThatItWasFor) {
  ran(64, 4, 2);
  TrialResult unfit;
  unfit.outcome = Outcome::kShmFull;
  unfit.not_started = true;
  add_trial(history_, config(512, 16, 4), unfit);
  EXPECT_EQ(find_frontier(history_, config(64, 16, 4)).smallest_failed, 512);
  EXPECT_FALSE(find_frontier(history_, config(64, 4, 2)).smallest_failed) << "fewer may fit";
  EXPECT_EQ(history_.out_of_memory_count(), 0) << "it never ran";
}

TEST_F(HostPrediction, WhatTheHostLacksSaysNothingOfTheDevice) {
  for (const int batch : {32, 64}) {
    TrialResult result = ran_at(1);
    result.peak_memory_bytes = static_cast<uint64_t>(batch) * 100 * kMiB;
    add_trial(history_, config(batch, 4, 2), result);
  }
  TrialResult unfit = ended_with(Outcome::kHostOom);
  unfit.not_started = true;
  add_trial(history_, config(512, 4, 2), unfit);
  const Frontier frontier = find_frontier(history_, config(64, 4, 2));
  EXPECT_EQ(frontier.smallest_failed, 512);
}

TEST_F(HostPrediction, TrialsBesideEachOtherTellNothing) {
  for (const int batch : {32, 64, 128}) ran(batch, 4, 2);
  const std::vector<FinishedTrial> alone = history_.trials();
  history_ = History(space_);
  for (FinishedTrial beside : alone) {
    beside.result.neighbours = 1;
    history_.add(std::move(beside));
  }
  EXPECT_FALSE(predict_host_use(history_, config(512, 16, 4)));
}

}  // namespace
}  // namespace redline::tuner
