// Writes the step logs of a big job for benchmarks.
//
//     write_step_logs FOLDER [RANKS] [HOURS]
//
// The job makes ten steps a second. From the half on rank 7 is a tenth late in forward, and the
// others wait for it.
#include <cstdio>
#include <random>
#include <string>

#include "trace/emit/step_log_writer.h"

namespace {

using namespace redline::trace;

constexpr int64_t kBegin = 1'700'000'000'000'000'000;
constexpr int64_t kMs = 1'000'000;
constexpr int64_t kStepMs = 90;
constexpr int64_t kLateMs = 10;
constexpr int64_t kStepsOfBlock = 10;  // a block is written each second
constexpr int kLateRank = 7;
constexpr int kRanksOfHost = 8;

struct Job {
  int ranks = 1024;
  int64_t steps = 36'000;
};

int64_t ns(double ms) { return static_cast<int64_t>(ms * kMs); }

/// `noise` is the same on all ranks, as the slowest rank's noise is.
LoggedStep step_of(const Job& job, int rank, int64_t number, int64_t begin_ns, double noise,
                   std::mt19937& random) {
  std::normal_distribution<double> jitter(0, 0.2);
  const bool is_late = number >= job.steps / 2;
  const double late_ms = is_late ? kLateMs : 0;
  const double own_ms = rank == kLateRank ? late_ms : 0;
  LoggedStep step;
  step.step = number;
  step.begin_ns = begin_ns;
  step.length_ns = step.shortest_ns = step.longest_ns = ns(kStepMs + late_ms + noise);
  step.samples = 32;
  const double data = 2 + jitter(random), forward = 25 + own_ms + jitter(random), backward = 45;
  const double optimizer = 8 + jitter(random);
  step.part_ns = {ns(data), ns(forward), ns(backward), ns(optimizer),
                  step.length_ns - ns(data) - ns(forward) - ns(backward) - ns(optimizer) - kMs};
  for (size_t part = 5; part < kLogParts; ++part) step.part_ns[part] = kUnseen;
  return step;
}

bool write_rank(const std::string& folder, const Job& job, int rank) {
  const auto writer =
      StepLogWriter::create(folder, {.run = "run",
                                     .rank = rank,
                                     .world_size = job.ranks,
                                     .host = "node" + std::to_string(rank / kRanksOfHost),
                                     .command = "train.py",
                                     .process = rank,
                                     .begin_ns = kBegin,
                                     .clock_offset_ns = 0});
  if (!writer) return std::fprintf(stderr, "%s\n", writer.error().c_str()), false;
  std::mt19937 of_job(1), of_rank(static_cast<unsigned>(rank) + 2);
  std::normal_distribution<double> noise(0, 1);
  int64_t time_ns = kBegin;
  for (int64_t number = 0; number < job.steps;) {
    LogBlock block;
    for (int64_t i = 0; i < kStepsOfBlock && number < job.steps; ++i, ++number) {
      block.steps.push_back(step_of(job, rank, number, time_ns, noise(of_job), of_rank));
      time_ns = block.steps.back().end_ns();
    }
    block.sign_ns = time_ns;
    block.memory.push_back({time_ns, 4'000'000'000 + rank, 60'000'000'000});
    if (number % 100 != 0) block.memory.clear();
    block.ended = number >= job.steps;
    if (block.ended) block.exit_status = 0;
    if (!(*writer)->append(block))
      return std::fprintf(stderr, "%s\n", (*writer)->error().c_str()), false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "write_step_logs FOLDER [RANKS] [HOURS]\n"), 2;
  Job job;
  if (argc > 2) job.ranks = std::stoi(argv[2]);
  if (argc > 3) job.steps *= std::stoi(argv[3]);
  for (int rank = 0; rank < job.ranks; ++rank) {
    if (!write_rank(argv[1], job, rank)) return 1;
  }
  return 0;
}
