#include "trace/model/recorded_jobs.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "base/integer.h"

namespace redline::trace {
namespace {

struct Ranks {
  std::set<std::optional<int>> ranks;
  std::set<std::optional<int>> world_sizes;
  int64_t command_ns = 0;  ///< when the command began; 0: unknown
  int64_t last_ns = 0;

  [[nodiscard]] bool may_join(const Ranks& job) const {
    return world_sizes == job.world_sizes && last_ns >= job.command_ns &&
           std::ranges::none_of(ranks,
                                [&](const auto& rank) { return rank && job.ranks.contains(rank); });
  }
};

// Of a name such as "1700000000000000000.4711"; 0 if it begins with no number.
int64_t command_time(const std::string& recording) {
  return leading_integer(recording).value_or(0);
}

}  // namespace

std::vector<size_t> jobs_of(const std::vector<RecordingMember>& members) {
  // A name begins with the time of the command, so the last in the alphabet is the latest.
  std::map<std::string, Ranks, std::greater<>> recordings;
  for (const RecordingMember& member : members) {
    Ranks& recording = recordings[member.recording];
    recording.ranks.insert(member.rank);
    recording.world_sizes.insert(member.world_size);
    recording.command_ns = command_time(member.recording);
    recording.last_ns = std::max(recording.last_ns, member.last_ns);
  }
  std::vector<Ranks> jobs;
  std::map<std::string, size_t> job_of;
  for (const auto& recording : recordings) {
    const Ranks& own = recording.second;
    const auto job =
        std::ranges::find_if(jobs, [&](const Ranks& other) { return own.may_join(other); });
    job_of[recording.first] = static_cast<size_t>(job - jobs.begin());
    if (job == jobs.end()) {
      jobs.push_back(own);
    } else {
      job->ranks.insert(own.ranks.begin(), own.ranks.end());
    }
  }
  std::vector<size_t> numbers;
  for (const RecordingMember& member : members) numbers.push_back(job_of[member.recording]);
  return numbers;
}

}  // namespace redline::trace
