#include "compare/logged_run.h"

#include <gtest/gtest.h>

#include "tests/temporary_folder.h"

namespace redline::compare {
namespace {

class LoggedRun : public ::testing::Test {
 protected:
  const testing::TemporaryFolder place_;
  const std::string folder_ = place_.path();
};

TEST_F(LoggedRun, AProgramThatIsMissingIsAnError) {
  const std::atomic<bool> stop = false;
  const CommandRun run{.command = {"/no/such/program"},
                       .folder = folder_,
                       .output = folder_ + "/output",
                       .kind = RunKind::kLogged};
  EXPECT_FALSE(run_once(run, stop));
}

}  // namespace
}  // namespace redline::compare
