#include "machine/launch/output_tail.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "tests/temporary_folder.h"

namespace redline::launch {
namespace {

TEST(OutputTail, HoldsTheLastBytesOfAFile) {
  const testing::TemporaryFolder place;
  const std::string path = place.path() + "/output";
  std::ofstream(path) << "one\ntwo\nthree\n";
  EXPECT_EQ(tail_of(path, 6), "three\n");
  EXPECT_EQ(tail_of(path, 1000), "one\ntwo\nthree\n");
  std::remove(path.c_str());
  EXPECT_EQ(tail_of(path, 6), "");
}

TEST(OutputTail, HoldsTheLastLines) {
  EXPECT_EQ(last_lines("one\ntwo\nthree\n", 2), "two\nthree");
  EXPECT_EQ(last_lines("one\ntwo", 2), "one\ntwo");
  EXPECT_EQ(last_lines("one\ntwo\n\n", 9), "one\ntwo");
  EXPECT_EQ(last_lines("\n\n", 2), "");
  EXPECT_EQ(last_lines("", 2), "");
}

}  // namespace
}  // namespace redline::launch
