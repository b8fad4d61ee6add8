#include "trace/run/recent.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/sample_shares.h"
#include "base/statistics.h"
#include "trace/run/rank_run.h"
#include "trace/run/runs.h"

namespace redline::trace {
namespace {

constexpr int64_t kMinuteNs = 60'000'000'000;
constexpr double kLeastAboveMedian = 0.05;

// Sums over the steps of the last minute. A quantity that none of them saw is kUnseen.
LoggedStep last_minute(const StepLog& log) {
  LoggedStep sum;
  sum.steps = 0;
  const int64_t end_ns = log.steps.back().end_ns();
  for (auto step = log.steps.rbegin(); step != log.steps.rend(); ++step) {
    if (sum.steps > 0 && step->begin_ns < end_ns - kMinuteNs) break;
    sum.steps += step->steps;
    sum.length_ns += step->length_ns;
    sum.samples = sum_of_seen(sum.samples, step->samples);
    sum.tokens = sum_of_seen(sum.tokens, step->tokens);
    for (size_t part = 0; part < kLogParts; ++part) {
      sum.part_ns[part] = sum_of_seen(sum.part_ns[part], step->part_ns[part]);
    }
  }
  return sum;
}

RecentRank rank_of(const StepLog& log, const LoggedStep& sum) {
  RecentRank rank;
  rank.rank = log.rank;
  rank.host = log.host;
  rank.ended = log.ended;
  rank.exit_status = log.exit_status;
  rank.last_step_ns = log.steps.back().end_ns();
  rank.step_ns = sum.mean_ns();
  const auto steps = static_cast<double>(sum.steps);
  if (const int64_t waited = sum.part(LogPart::kCommunicationWait); waited != kUnseen) {
    rank.own_ns = rank.step_ns - static_cast<double>(waited) / steps;
  }
  if (const int64_t waited = sum.part(LogPart::kDataWait); waited != kUnseen && sum.length_ns > 0) {
    rank.data_wait_share = static_cast<double>(waited) / static_cast<double>(sum.length_ns);
  }
  if (!log.memory.empty()) rank.memory_bytes = log.memory.back().used_bytes();
  return rank;
}

// Adds what a rank does each second; unknown of one rank is unknown of the job.
void add_rate(std::optional<double>& rate, int64_t amount, double seconds) {
  if (amount == kUnseen || seconds <= 0) rate.reset();
  if (rate) *rate += static_cast<double>(amount) / seconds;
}

// The rates of the ranks that still make steps: one may end long before the others.
void write_rates(RecentRun& run, std::vector<const StepLog*> logs) {
  int64_t newest_ns = 0;
  for (const StepLog* log : logs) newest_ns = std::max(newest_ns, log->steps.back().end_ns());
  std::erase_if(logs, [&](const StepLog* log) {
    return log->ended && log->steps.back().end_ns() < newest_ns - kMinuteNs;
  });
  std::vector<std::string> digests;
  for (const StepLog* log : logs) digests.push_back(log->batches.counted_digest());
  const std::vector<double> shares = sample_shares(digests);
  run.samples_per_s = run.tokens_per_s = run.data_wait_share = 0;
  for (size_t i = 0; i < logs.size(); ++i) {
    const LoggedStep sum = last_minute(*logs[i]);
    const double seconds = static_cast<double>(sum.length_ns) * 1e-9;
    if (i == 0 && seconds > 0) run.steps_per_s = static_cast<double>(sum.steps) / seconds;
    add_rate(run.samples_per_s, sum.samples, seconds / shares[i]);
    add_rate(run.tokens_per_s, sum.tokens, seconds / shares[i]);
    add_rate(run.data_wait_share, sum.part(LogPart::kDataWait),
             static_cast<double>(sum.length_ns * std::ssize(logs)));
  }
}

void find_slowest(RecentRun& run) {
  std::vector<double> own;
  for (const RecentRank& rank : run.ranks) {
    if (!rank.own_ns) return;
    own.push_back(*rank.own_ns);
  }
  const auto most = static_cast<size_t>(std::ranges::max_element(own) - own.begin());
  const double longest = own[most];
  const double median = lower_median(std::move(own));
  if (median <= 0 || longest < (1 + kLeastAboveMedian) * median) return;
  run.slowest = most;
  run.slowest_excess = longest / median - 1;
}

void find_most_silent(RecentRun& run) {
  for (size_t i = 0; i < run.ranks.size(); ++i) {
    if (run.ranks[i].ended) continue;
    if (!run.most_silent || run.ranks[i].last_step_ns < run.ranks[*run.most_silent].last_step_ns) {
      run.most_silent = i;
    }
  }
}

}  // namespace

bool RecentRun::is_silent(int64_t now_ns) const {
  const RecentRank& last = *std::ranges::max_element(ranks, {}, &RecentRank::last_step_ns);
  const auto age_ns = static_cast<double>(now_ns - last.last_step_ns);
  return age_ns > std::max(static_cast<double>(kMinuteNs), 3 * last.step_ns);
}

bool RecentRun::is_over(int64_t now_ns) const {
  return is_silent(now_ns) &&
         std::ranges::all_of(ranks, [](const RecentRank& rank) { return rank.exit_status == 0; });
}

void RecentRun::stop_if_silent(int64_t now_ns) {
  if (!is_silent(now_ns)) return;
  steps_per_s = 0;
  for (std::optional<double>* rate : {&samples_per_s, &tokens_per_s}) {
    if (*rate) *rate = 0;
  }
}

std::optional<RecentRun> recent_run(const std::vector<StepLog>& logs) {
  std::map<int, const StepLog*> latest;
  bool has_restarted = false;
  for (const StepLog& log : logs) {
    if (log.steps.empty()) continue;
    const StepLog*& place = latest[log.rank];
    has_restarted = has_restarted || place != nullptr;
    if (place == nullptr || place->begin_ns < log.begin_ns) place = &log;
  }
  if (latest.empty()) return std::nullopt;
  const StepLog& newest = *std::ranges::max_element(latest, {}, [](const auto& each) {
                             return each.second->begin_ns;
                           })->second;
  std::erase_if(latest, [&](const auto& each) {
    return is_of_another_start(*each.second, newest, has_restarted);
  });
  RecentRun run;
  std::vector<const StepLog*> all;
  for (const auto& [number, log] : latest) {
    all.push_back(log);
    run.ranks.push_back(rank_of(*log, last_minute(*log)));
    run.world_size = std::max(run.world_size, log->world_size);
    run.steps = std::max(run.steps, log->steps.back().step + log->steps.back().steps);
  }
  write_rates(run, std::move(all));
  find_slowest(run);
  find_most_silent(run);
  return run;
}

}  // namespace redline::trace
