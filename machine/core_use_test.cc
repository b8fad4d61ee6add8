#include "machine/core_use.h"

#include <gtest/gtest.h>

#include "tests/fake_machine.h"

namespace redline::machine {
namespace {

class CoreUseOfAProc : public ::testing::Test {
 protected:
  void put(const std::string& file, const std::string& text) const {
    machine_.put("proc/" + file, text);
  }
  void end_thread(int id) const { machine_.remove("proc/self/task/" + std::to_string(id)); }
  [[nodiscard]] CoreUse read() { return reader_.read(HostReader(machine_.root()).read()); }

  const redline::testing::FakeMachine machine_;
  CoreUseReader reader_{machine_.root()};
};

TEST_F(CoreUseOfAProc, WaitsOfThreadsAddUpAlsoWhenAThreadHasEnded) {
  put("self/task/7/schedstat", "100 40 3\n");
  put("self/task/8/schedstat", "100 2 3\n");
  EXPECT_EQ(read().waited_ns, 42);
  end_thread(8);
  EXPECT_EQ(read().waited_ns, 42);
  put("self/task/7/schedstat", "500 45 9\n");
  put("self/task/8/schedstat", "1 1 1\n");  // another one with the same id
  EXPECT_EQ(read().waited_ns, 48);
}

TEST_F(CoreUseOfAProc, WhatTheKernelDoesNotTellIsAbsent) {
  const CoreUse use = read();
  EXPECT_FALSE(use.waited_ns);
  EXPECT_FALSE(use.busy_ns);
  EXPECT_GT(use.used_ns, 0);
}

TEST(CoreUse, OfThisProcessGrows) {
  CoreUseReader reader;
  HostReader host;
  const CoreUse before = reader.read(host.read());
  EXPECT_GE(before.cores, 1);
  const CoreUse after = reader.read(host.read());
  EXPECT_GT(after.used_ns, before.used_ns);
  EXPECT_GE(after.busy_ns.value_or(0), before.busy_ns.value_or(0));
}

}  // namespace
}  // namespace redline::machine
