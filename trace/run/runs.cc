#include "trace/run/runs.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "trace/model/recorded_jobs.h"

namespace redline::trace {
namespace {

bool ended_well(const RankRun& log) { return log.ended && log.exit_status.value_or(0) == 0; }

/// Of two logs of a rank: of a start that failed, the one of the next start counts; of a training
/// and a test in one command, the longer one.
bool counts_before(const RankRun& log, const RankRun& other) {
  if (ended_well(log) && ended_well(other) && log.all.length_ns != other.all.length_ns) {
    return log.all.length_ns > other.all.length_ns;
  }
  return log.begin_ns > other.begin_ns;
}

}  // namespace

std::vector<RankRuns> runs_of(RankRuns ranks) {
  std::vector<RecordingMember> members;
  for (const RankRun& rank : ranks) {
    // A log without a name is a run of its own.
    const std::string name =
        rank.run.empty() ? std::to_string(rank.begin_ns) + "." + rank.path : rank.run;
    members.push_back({name, rank.rank, rank.world_size, rank.last_sign_ns});
  }
  const std::vector<size_t> jobs = jobs_of(members);
  std::map<std::pair<size_t, int>, RankRun> counted;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const auto [place, is_new] = counted.try_emplace({jobs[i], ranks[i].rank});
    RankRun& kept = place->second;
    const int64_t others = is_new ? 0 : kept.other_logs + 1;
    if (is_new || counts_before(ranks[i], kept)) kept = std::move(ranks[i]);
    kept.other_logs = others;
  }
  const size_t count = jobs.empty() ? 0 : *std::ranges::max_element(jobs) + 1;
  std::vector<RankRuns> runs(count);
  for (auto& [key, rank] : counted) runs[count - 1 - key.first].push_back(std::move(rank));
  for (RankRuns& run : runs) {
    const RankRun newest = *std::ranges::max_element(run, {}, &RankRun::begin_ns);
    const bool has_restarted =
        std::ranges::any_of(run, [](const RankRun& rank) { return rank.other_logs > 0; });
    int64_t left_out = 0;
    std::erase_if(run, [&](const RankRun& rank) {
      const bool is_other = is_of_another_start(rank, newest, has_restarted);
      if (is_other) left_out += 1 + rank.other_logs;
      return is_other;
    });
    run.front().other_logs += left_out;
  }
  return runs;
}

}  // namespace redline::trace
