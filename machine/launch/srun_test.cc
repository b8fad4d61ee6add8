#include "machine/launch/srun.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/temporary_folder.h"

namespace redline::launch {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A program called srun is first in PATH.
class RunOnNodes : public ::testing::Test {
 protected:
  ~RunOnNodes() override { setenv("PATH", path_.c_str(), 1); }

  void make_srun(const std::string& script) {
    const std::string program = place_.path() + "/srun";
    std::ofstream(program) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    setenv("PATH", (place_.path() + ":" + path_).c_str(), 1);
  }

  void take(size_t node, const NodeOutput& output) {
    taken_.push_back(std::to_string(node) + " " + (output ? *output : output.error()));
  }

  const testing::TemporaryFolder place_;
  const std::string path_ = std::getenv("PATH");
  std::vector<std::string> taken_;
  std::atomic<bool> stop_ = false;
};

TEST_F(RunOnNodes, GivesWhatEachPrintedAndWhyOneFailed) {
  make_srun("for last; do :; done; printf %s $last; echo 'no node' >&2; [ $last != word1 ]");
  run_on_nodes(
      3, [](size_t node) { return std::vector{"word" + std::to_string(node)}; },
      [&](size_t node, const NodeOutput& output) { take(node, output); }, stop_);
  EXPECT_THAT(taken_, ElementsAre("0 word0", "1 ended with status 1: no node", "2 word2"));
}

TEST_F(RunOnNodes, EndsThemWhenItIsStopped) {
  make_srun("exec sleep 1000");
  size_t asked = 0;
  const auto command_of = [&](size_t node) {
    ++asked;
    stop_ = node == 1;
    return std::vector<std::string>{"word"};
  };
  run_on_nodes(
      3, command_of, [&](size_t node, const NodeOutput& output) { take(node, output); }, stop_);
  EXPECT_EQ(asked, 2U) << "none is started any more";
  EXPECT_THAT(taken_, IsEmpty());
}

}  // namespace
}  // namespace redline::launch
