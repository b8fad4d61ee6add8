#include "tuner/trial/hang_stacks.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace redline::tuner {
namespace {

TEST(HangStacks, OnlyWhoCatchesTheSignalIsAsked) {
  EXPECT_TRUE(catches("SigIgn:\t0\nSigCgt:\t0000000000000005\n", 1));
  EXPECT_FALSE(catches("SigCgt:\t0000000000000005\n", 2));
  EXPECT_TRUE(catches("SigCgt:\t0000400000000000\n", 47));
  EXPECT_FALSE(catches("", 1));
  EXPECT_EQ(hang_stacks({getpid()}, "/tmp"), "") << "and this process lives on";
}

}  // namespace
}  // namespace redline::tuner
