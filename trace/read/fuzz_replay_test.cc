// Runs the fuzzers' seeds and all that they ever found in every build, without clang.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/fuzz/check_trace.h"

namespace redline::fuzz {
namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(FuzzReplay, FilesOfAllFindingsKeepTheReadersPromises) {
  size_t files = 0;
  for (const char* folder : {"corpus", "findings"}) {
    const fs::path root = fs::path(REDLINE_SOURCE_DIR) / "tests/fuzz" / folder;
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      if (!entry.is_regular_file()) continue;
      ++files;
      const auto trace = read_bytes(content_of(entry.path()));
      if (!trace) continue;
      EXPECT_EQ(broken_promise(*trace), "") << entry.path();
      EXPECT_EQ(broken_round_trip(*trace), "") << entry.path();
    }
  }
  EXPECT_GE(files, 10U);
}

}  // namespace
}  // namespace redline::fuzz
