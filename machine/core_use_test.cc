#include "machine/core_use.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace redline::machine {
namespace {

namespace fs = std::filesystem;

class CoreUseOfAProc : public ::testing::Test {
 protected:
  void SetUp() override { fs::remove_all(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  void put(const std::string& file, const std::string& text) const {
    const fs::path path = folder_ + "/proc/" + file;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  void end_thread(int id) const {
    fs::remove_all(folder_ + "/proc/self/task/" + std::to_string(id));
  }

  const std::string folder_ = ::testing::TempDir() + "core_use_test." + std::to_string(getpid());
  CoreUseReader reader_{folder_};
};

TEST_F(CoreUseOfAProc, WaitsOfThreadsAddUpAlsoWhenAThreadHasEnded) {
  put("self/task/7/schedstat", "100 40 3\n");
  put("self/task/8/schedstat", "100 2 3\n");
  EXPECT_EQ(reader_.read().waited_ns, 42);
  end_thread(8);
  EXPECT_EQ(reader_.read().waited_ns, 42);
  put("self/task/7/schedstat", "500 45 9\n");
  put("self/task/8/schedstat", "1 1 1\n");  // another one with the same id
  EXPECT_EQ(reader_.read().waited_ns, 48);
}

TEST_F(CoreUseOfAProc, WhatTheKernelDoesNotTellIsAbsent) {
  const CoreUse use = reader_.read();
  EXPECT_FALSE(use.waited_ns);
  EXPECT_FALSE(use.busy_ns);
  EXPECT_GT(use.used_ns, 0);
}

TEST(CoreUse, OfThisProcessGrows) {
  CoreUseReader reader;
  const CoreUse before = reader.read();
  EXPECT_GE(before.cores, 1);
  const CoreUse after = reader.read();
  EXPECT_GT(after.used_ns, before.used_ns);
  EXPECT_GE(after.busy_ns.value_or(0), before.busy_ns.value_or(0));
}

}  // namespace
}  // namespace redline::machine
