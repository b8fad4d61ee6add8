// Runs the fuzzers' seeds and all that they ever found in every build, without clang.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "tests/fuzz/check_step_log.h"
#include "tests/fuzz/check_trace.h"
#include "tests/paths.h"
#include "trace/read/step_log_reader.h"

namespace redline::fuzz {
namespace {

namespace fs = std::filesystem;

bool is_of_step_logs(const fs::path& path) { return path.parent_path().filename() == "step_log"; }

TEST(FuzzReplay, TheSeedOfStepLogsIsOne) {
  const std::string seed =
      read_file(redline::testing::source_dir() + "/tests/fuzz/corpus/step_log/three_blocks");
  const auto log = trace::parse_step_log("seed", seed);
  ASSERT_TRUE(log) << log.error().message;
  EXPECT_EQ(log->step_count(), 21);
  EXPECT_EQ(log->damaged_bytes, 0);
}

TEST(FuzzReplay, FilesOfAllFindingsKeepTheReadersPromises) {
  size_t files = 0;
  for (const char* folder : {"corpus", "findings"}) {
    const fs::path root = fs::path(redline::testing::source_dir()) / "tests/fuzz" / folder;
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      if (!entry.is_regular_file()) continue;
      ++files;
      if (is_of_step_logs(entry.path())) {
        const std::string bytes = read_file(entry.path());
        EXPECT_EQ(broken_step_log(bytes), "") << entry.path();
        EXPECT_EQ(broken_step_log(in_sound_blocks(bytes)), "") << entry.path();
        continue;
      }
      const auto trace = read_bytes(read_file(entry.path()));
      if (!trace) continue;
      EXPECT_EQ(broken_promise(*trace), "") << entry.path();
      EXPECT_EQ(broken_round_trip(*trace), "") << entry.path();
    }
  }
  EXPECT_GE(files, 10U);
}

}  // namespace
}  // namespace redline::fuzz
