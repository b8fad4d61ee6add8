#include "compare/logged_run.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace redline::compare {
namespace {

class LoggedRun : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "logged_run_XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string file(const std::string& text) const {
    std::ofstream(folder_ + "/output") << text;
    return folder_ + "/output";
  }

  std::string folder_;
};

TEST_F(LoggedRun, ShowsTheLastLines) {
  EXPECT_EQ(last_lines(file("one\ntwo\nthree\n"), 2), "two\nthree");
  EXPECT_EQ(last_lines(file("one\ntwo"), 2), "one\ntwo");
  EXPECT_EQ(last_lines(file("one\ntwo\n\n"), 9), "one\ntwo");
  EXPECT_EQ(last_lines(file("\n\n"), 2), "");
  EXPECT_EQ(last_lines(file(""), 2), "");
  EXPECT_EQ(last_lines(folder_ + "/absent", 2), "");
}

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
