#include "compare/logged_run.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace redline::compare {
namespace {

class LoggedRun : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "logged_run_XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string folder_;
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
