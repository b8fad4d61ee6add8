#include "machine/processor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fake_machine.h"

namespace redline::machine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Processor, IsThatOfTheFirstCore) {
  const redline::testing::FakeMachine machine;
  machine.put("/proc/cpuinfo",
              "processor\t: 0\nmodel name\t: Some CPU @ 2.0GHz\nflags\t\t: fpu sse avx512_bf16\n\n"
              "processor\t: 1\nmodel name\t: Other\nflags\t\t: vme\n");
  const Processor found = processor(machine.root());
  EXPECT_EQ(found.model, "Some CPU @ 2.0GHz");
  EXPECT_THAT(found.instructions, ElementsAre("fpu", "sse", "avx512_bf16"));
  EXPECT_TRUE(found.has("sse"));
  EXPECT_FALSE(found.has("ss"));
  EXPECT_FALSE(found.has("vme"));
}

TEST(Processor, OfArmHasFeaturesAndNoModel) {
  const redline::testing::FakeMachine machine;
  machine.put("/proc/cpuinfo", "processor\t: 0\nFeatures\t: fp asimd bf16\nCPU part\t: 0xd4f");
  const Processor found = processor(machine.root());
  EXPECT_EQ(found.model, "");
  EXPECT_THAT(found.instructions, ElementsAre("fp", "asimd", "bf16"));
}

TEST(Processor, IsUnknownWhereTheKernelTellsNothing) {
  const redline::testing::FakeMachine machine;
  EXPECT_EQ(processor(machine.root()).model, "");
  machine.put("/proc/cpuinfo", "model name\t:\nflags\n");
  EXPECT_EQ(processor(machine.root()).model, "");
  EXPECT_THAT(processor(machine.root()).instructions, IsEmpty());
}

}  // namespace
}  // namespace redline::machine
