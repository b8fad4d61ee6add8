#include "machine/launch/tracked_command.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "base/file.h"
#include "machine/launch/environment.h"
#include "tests/temporary_folder.h"

namespace redline::launch {
namespace {

class StartTracked : public ::testing::Test {
 protected:
  /// Runs the script to its end and returns its exit status.
  [[nodiscard]] int run(const std::string& script, const std::string& out,
                        const std::string& err) const {
    TrackedOptions options;
    options.argv = {"sh", "-c", script};
    options.environment = Environment::current().strings();
    options.stdout_path = folder_ + "/" + out;
    options.stderr_path = folder_ + "/" + err;
    const auto process = start_tracked(options);
    int status = -1;
    return process && waitpid(*process, &status, 0) == *process ? status : -1;
  }
  [[nodiscard]] std::string text_of(const std::string& name) const {
    return read_file(folder_ + "/" + name);
  }

  const testing::TemporaryFolder place_;
  const std::string folder_ = place_.path();
};

TEST_F(StartTracked, BothStreamsMayGoToOneFile) {
  EXPECT_EQ(run("echo first line; echo why >&2; echo last", "all", "all"), 0);
  EXPECT_EQ(text_of("all"), "first line\nwhy\nlast\n");
  EXPECT_EQ(run("echo anew >&2", "all", "all"), 0);
  EXPECT_EQ(text_of("all"), "anew\n") << "an earlier run's file is replaced";
}

TEST_F(StartTracked, EachStreamHasItsFile) {
  EXPECT_EQ(run("echo rate; echo why >&2", "out", "err"), 0);
  EXPECT_EQ(text_of("out"), "rate\n");
  EXPECT_EQ(text_of("err"), "why\n");
}

}  // namespace
}  // namespace redline::launch
