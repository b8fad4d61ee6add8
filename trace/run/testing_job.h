// Makes the step logs of jobs whose course is known, for tests of what judge_run() must find and
// where it must be silent.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "trace/run/verdict.h"

namespace redline::testing {

inline constexpr int64_t kFirstStepBegin = 1'700'000'000'000'000'000;

/// Milliseconds that the parts of one rank's step take by themselves.
struct Own {
  int rank = 0;
  int64_t step = 0;
  double data_wait = 1;
  double forward = 10;
  double backward = 20;
  double optimizer = 4;
  double evaluation = 0;
  double checkpoint = 0;
  double collection = 0;
  double compile = 0;
  double other = 2;
  int64_t samples = 32;
  int64_t tokens = trace::kUnseen;
};

struct Job {
  int ranks = 1;
  int64_t steps = 4000;
  double noise = 0.03;   // noise that is the same on all ranks
  double memory = 0.5;   // how much of the noise stays from step to step
  double jitter = 0.01;  // noise of each step alone
  bool sees_waits = true;
  uint32_t seed = 1;
  std::function<void(Own&, std::mt19937&)> change = [](Own&, std::mt19937&) {};
};

inline int64_t ns(double ms) { return std::llround(ms * 1e6); }

inline std::vector<trace::StepLog> logs_of(const Job& job) {
  std::mt19937 random(job.seed);
  std::normal_distribution<double> normal;
  std::vector<trace::StepLog> logs(static_cast<size_t>(job.ranks));
  for (int rank = 0; rank < job.ranks; ++rank) {
    trace::StepLog& log = logs[static_cast<size_t>(rank)];
    log.run = "run";
    log.rank = rank;
    log.world_size = job.ranks;
    log.host = "node" + std::to_string(rank / 8);
    log.begin_ns = kFirstStepBegin;
    log.ended = true;
  }
  double drift = 0;
  int64_t time_ns = kFirstStepBegin;
  for (int64_t number = 0; number < job.steps; ++number) {
    drift = job.memory * drift + std::sqrt(1 - job.memory * job.memory) * normal(random);
    std::vector<Own> own;
    double longest = 0;
    const auto total = [](const Own& each) {
      return each.data_wait + each.forward + each.backward + each.optimizer + each.evaluation +
             each.checkpoint + each.collection + each.compile + each.other;
    };
    for (int rank = 0; rank < job.ranks; ++rank) {
      Own each;
      each.rank = rank;
      each.step = number;
      const double factor = std::max(0.5, 1 + job.noise * drift + job.jitter * normal(random));
      each.forward *= factor;
      each.backward *= factor;
      each.optimizer *= factor;
      if (number == 0) each.forward += 400;
      job.change(each, random);
      longest = std::max(longest, total(each));
      own.push_back(each);
    }
    for (const Own& each : own) {
      trace::LoggedStep step;
      step.step = number;
      step.begin_ns = time_ns;
      step.length_ns = step.shortest_ns = step.longest_ns = ns(longest);
      step.samples = each.samples;
      step.tokens = each.tokens;
      const double wait = longest - total(each);
      const double backward = each.backward + (job.sees_waits ? 0 : wait);
      step.part_ns = {
          ns(each.data_wait), ns(each.forward),    ns(backward),        ns(each.optimizer),
          ns(wait),           ns(each.evaluation), ns(each.checkpoint), ns(each.collection),
          ns(each.compile)};
      if (job.ranks == 1 || !job.sees_waits) step.part_ns[4] = trace::kUnseen;
      logs[static_cast<size_t>(each.rank)].steps.push_back(step);
    }
    time_ns += ns(longest);
  }
  for (trace::StepLog& log : logs) log.last_sign_ns = time_ns;
  return logs;
}

inline trace::RunVerdict judge(const std::vector<trace::StepLog>& logs) {
  std::vector<trace::RankRun> ranks;
  for (const trace::StepLog& log : logs) ranks.push_back(trace::summarise(log));
  const int64_t now_ns = logs.front().steps.back().end_ns() + 60'000'000'000;
  return *trace::judge_run(std::move(ranks), now_ns);
}

inline trace::RunVerdict judge(const Job& job) { return judge(logs_of(job)); }

/// The only finding of a job that has one cause.
inline trace::RunFinding only(const trace::RunVerdict& verdict) {
  EXPECT_EQ(verdict.findings.size(), 1U);
  for (const trace::RunFinding& finding : verdict.findings) {
    SCOPED_TRACE(::testing::Message() << "cause " << static_cast<int>(finding.cause) << " part "
                                      << (finding.part ? static_cast<int>(*finding.part) : -1)
                                      << " lost " << finding.lost_share);
    if (verdict.findings.size() > 1) ADD_FAILURE();
  }
  return verdict.findings.empty() ? trace::RunFinding() : verdict.findings.front();
}

inline trace::StepLog begun_later(trace::StepLog log, int64_t later_ns) {
  for (trace::LoggedStep& step : log.steps) step.begin_ns += later_ns;
  log.begin_ns += later_ns;
  log.last_sign_ns += later_ns;
  return log;
}

}  // namespace redline::testing
