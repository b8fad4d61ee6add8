#include <cmath>

#include "base/json_values.h"
#include "trace/report/jobs.h"

namespace redline::trace {
namespace {

using json = nlohmann::ordered_json;

json recent_rank_json(const RecentRank& rank) {
  return {{"rank", rank.rank},
          {"host", rank.host},
          {"ended", rank.ended},
          {"last_step_ns", rank.last_step_ns},
          {"step_ns", std::llround(rank.step_ns)},
          {"own_ns", rank.own_ns ? json(std::llround(*rank.own_ns)) : json()},
          {"data_wait_share", rank.data_wait_share},
          {"memory_bytes", rank.memory_bytes}};
}

json job_json(const RunningJob& job, int64_t read_ns) {
  json object = {{"folder", job.folder},
                 {"read_ns", read_ns},
                 {"unreadable_logs", job.unreadable_logs},
                 {"world_size", nullptr},
                 {"steps", nullptr},
                 {"steps_per_s", nullptr},
                 {"samples_per_s", nullptr},
                 {"tokens_per_s", nullptr},
                 {"data_wait_share", nullptr},
                 {"slowest_rank", nullptr},
                 {"ranks", json::array()}};
  if (!job.recent) return object;
  const RecentRun& run = *job.recent;
  object["world_size"] = run.world_size;
  object["steps"] = run.steps;
  object["steps_per_s"] = run.steps_per_s;
  object["samples_per_s"] = run.samples_per_s;
  object["tokens_per_s"] = run.tokens_per_s;
  object["data_wait_share"] = run.data_wait_share;
  object["slowest_rank"] = run.slowest ? json(run.ranks[*run.slowest].rank) : json();
  object["ranks"] = list_json(run.ranks, recent_rank_json);
  return object;
}

}  // namespace

json jobs_json(const ReadJobs& read) {
  return list_json(read.jobs, [&](const RunningJob& job) { return job_json(job, read.read_ns); });
}

}  // namespace redline::trace
