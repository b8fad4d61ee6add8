#include "profiler/request/logged_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "machine/launch/command.h"

namespace redline::launch {
namespace {

TEST(LoggedJobs, AreThoseOfRunningProcesses) {
  const std::string run = "test." + std::to_string(getpid());
  const LoggedJob job{run, "/logs of mine"};
  const auto process = start_command({"sleep", "1000"},
                                     {"PATH=/usr/bin:/bin", "REDLINE_LOG_RUN=" + run,
                                      "XREDLINE_LOG=/no", "REDLINE_LOG=/logs of mine"},
                                     [] { return true; });
  ASSERT_TRUE(process) << process.error();
  EXPECT_THAT(running_logged_jobs(), ::testing::Contains(job));
  kill(*process, SIGKILL);
  waitpid(*process, nullptr, 0);
  EXPECT_THAT(running_logged_jobs(), ::testing::Not(::testing::Contains(job)));
}

}  // namespace
}  // namespace redline::launch
