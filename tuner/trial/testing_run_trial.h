// For tests: a trial whose rank is a few lines of Python.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>

#include "tests/temporary_folder.h"
#include "tuner/trial/trial.h"

namespace redline::tuner {

/// Does what a rank of a training does, without PyTorch: `train(...)` reports steps over the FIFO.
constexpr const char* kPrelude = R"(
import json, os, signal, subprocess, sys, time
folder = os.environ["REDLINE_TRIAL_DIRECTORY"]
def say(**line):
    with open(os.environ["REDLINE_TRIAL"], "w") as channel:
        channel.write(json.dumps(line) + "\n")
def train(steps, rank=0, world=1, batch=10, seconds=0.002):
    for step in range(1, steps + 1):
        time.sleep(seconds)
        say(type="step", rank=rank, world=world, t=time.monotonic_ns(), steps=step, samples=step * batch)
)";

class PythonTrial : public ::testing::Test {
 protected:
  PythonTrial() {
    spec_.directory = place_.path();
    spec_.measure_for = std::chrono::milliseconds(200);
    spec_.timeout = std::chrono::seconds(60);
  }

  TrialResult python(const std::string& body,
                     const std::function<void(const TrialProgress&)>& on_progress = {}) {
    spec_.command = {"python3", "-c", kPrelude + body};
    return run_trial(spec_, stop_, on_progress);
  }

  [[nodiscard]] std::string file(const std::string& name) const {
    std::stringstream text;
    text << std::ifstream(std::filesystem::path(spec_.directory) / name).rdbuf();
    return text.str();
  }

  /// Whether the process whose pid is in the file `name` is gone, and reaped: a zombie is not gone.
  [[nodiscard]] bool gone(const std::string& name) const {
    const pid_t pid = std::stoi(file(name));
    return kill(pid, 0) != 0 && errno == ESRCH;
  }

  const testing::TemporaryFolder place_;
  TrialSpec spec_;
  std::atomic<StopRequest> stop_ = StopRequest::kNone;
};

}  // namespace redline::tuner
