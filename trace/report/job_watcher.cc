#include "trace/report/jobs.h"

namespace redline::trace {

const ReadJobs& JobWatcher::look(int64_t now_ns) {
  const int64_t begin_ns = clock_();
  if (next_ns_ && begin_ns < *next_ns_) return last_;
  last_ = {.read_ns = now_ns, .jobs = read_()};
  // A process that the job has started, such as TensorBoard, may outlive it.
  std::erase_if(last_.jobs, [&](const RunningJob& job) {
    return job.recent && job.recent->is_over(now_ns) && job.unreadable_logs.empty();
  });
  for (RunningJob& job : last_.jobs) {
    // The logs tell nothing of what came after they were read, not even that it was silence.
    if (job.recent) job.recent->stop_if_silent(now_ns);
  }
  constexpr int kShare = 20;
  const int64_t end_ns = clock_();
  next_ns_ = end_ns + (kShare - 1) * (end_ns - begin_ns);
  return last_;
}

}  // namespace redline::trace
