#include "profiler/request/logged_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "machine/launch/command.h"

namespace redline::launch {
namespace {

TEST(LoggedJobs, AreThoseOfRunningProcesses) {
  const std::string run = "test." + std::to_string(getpid());
  const LoggedJob job{run, "/logs of mine", "/logs of mine"};
  const auto process = start_command({"sleep", "1000"},
                                     {"PATH=/usr/bin:/bin", "REDLINE_LOG_RUN=" + run,
                                      "XREDLINE_LOG=/no", "REDLINE_LOG=/logs of mine"},
                                     [] { return true; });
  ASSERT_TRUE(process) << process.error();
  // Right after exec() /proc tells no environment yet.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  const auto runs = [&] { return std::ranges::count(running_logged_jobs(), job) > 0; };
  while (!runs() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_THAT(running_logged_jobs(), ::testing::Contains(job));
  kill(*process, SIGKILL);
  waitpid(*process, nullptr, 0);
  EXPECT_THAT(running_logged_jobs(), ::testing::Not(::testing::Contains(job)));
}

}  // namespace
}  // namespace redline::launch
