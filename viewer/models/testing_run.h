// The step logs of a job for tests, written as the recorder writes them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "trace/emit/step_log_writer.h"

namespace redline::viewer {

/// A job of two ranks: 600 steps of 50 ms, from the half on of 80 ms because they wait for data. An
/// epoch has 200 steps.
class TestRun {
 public:
  static constexpr int64_t kBegin = 1'700'000'000'000'000'000;
  static constexpr int64_t kSteps = 600;
  static constexpr int64_t kMs = 1'000'000;

  explicit TestRun(std::filesystem::path folder) : folder_(std::move(folder)) {}

  [[nodiscard]] std::string folder() const { return folder_; }
  [[nodiscard]] static int64_t begin_of(int64_t step) {
    return kBegin + step * 50 * kMs + std::max<int64_t>(0, step - kSteps / 2) * 30 * kMs;
  }
  /// Two steps of rank 0 were recorded at `step`, into this file.
  void add_window(int64_t step, const std::string& trace) {
    marks_.push_back({begin_of(step), 0, trace::LogMarkKind::kWindow, trace});
  }
  /// The same, with a trace in the folder of `redline run --every`. Returns its path.
  std::string add_window_with_trace(int64_t step, const std::string& name,
                                    const std::string& json) {
    const auto file = folder_ / "windows" / name / "rank0.pt.trace.json";
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << json;
    add_window(step, file);
    return file;
  }

  void write() const {
    for (int rank = 0; rank < 2; ++rank) {
      const trace::LogOwner owner{.run = "run",
                                  .rank = rank,
                                  .world_size = 2,
                                  .host = "node0",
                                  .command = "train.py",
                                  .process = 1,
                                  .begin_ns = kBegin,
                                  .clock_offset_ns = 0};
      const auto writer = trace::StepLogWriter::create(folder_, owner);
      ASSERT_TRUE(writer) << writer.error();
      trace::LogBlock block;
      for (int64_t step = 0; step < kSteps; ++step) block.steps.push_back(step_of(step));
      for (int64_t step = 0; step < kSteps; step += 200) {
        block.marks.push_back(
            {begin_of(step), 0, trace::LogMarkKind::kEpoch, std::to_string(step / 200 + 1)});
      }
      if (rank == 0) block.marks.insert(block.marks.end(), marks_.begin(), marks_.end());
      block.sign_ns = begin_of(kSteps);
      block.ended = true;
      block.exit_status = 0;
      ASSERT_TRUE((*writer)->append(block)) << (*writer)->error();
    }
  }

 private:
  static trace::LoggedStep step_of(int64_t number) {
    trace::LoggedStep step;
    step.step = number;
    step.begin_ns = begin_of(number);
    step.length_ns = begin_of(number + 1) - step.begin_ns;
    step.shortest_ns = step.longest_ns = step.length_ns;
    step.samples = 32;
    step.part_ns[static_cast<size_t>(trace::LogPart::kDataWait)] = step.length_ns - 45 * kMs;
    step.part_ns[static_cast<size_t>(trace::LogPart::kForward)] = 15 * kMs;
    step.part_ns[static_cast<size_t>(trace::LogPart::kBackward)] = 20 * kMs;
    step.part_ns[static_cast<size_t>(trace::LogPart::kOptimizer)] = 8 * kMs;
    return step;
  }

  std::filesystem::path folder_;
  std::vector<trace::LogMark> marks_;
};

}  // namespace redline::viewer
