#include "machine/host_reading.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <latch>
#include <thread>

#include "machine/resources.h"
#include "tests/fake_machine.h"

namespace redline::machine {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

class FakeProc : public ::testing::Test {
 protected:
  void put(const std::string& file, const std::string& text) const {
    machine_.put("proc/" + file, text);
  }
  [[nodiscard]] HostReading read() const { return HostReader(machine_.root()).read(); }

  const redline::testing::FakeMachine machine_;
};

TEST_F(FakeProc, CoresAreBusyButForIdleAndIoWait) {
  put("stat",
      "cpu  30 0 6 160 4 0 0 0 0 0\ncpu0 10 1 2 80 4 1 1 1 7 7\ncpu1 20 0 4 80 0 0 0 0 0 0\n"
      "intr 999 1 2\nctxt 5\n");
  const HostReading reading = read();
  ASSERT_TRUE(reading.machine);
  EXPECT_EQ(reading.machine->busy, 36U);
  EXPECT_EQ(reading.machine->total, 200U);
  ASSERT_EQ(reading.cores.size(), 2U);
  EXPECT_EQ(reading.cores[0].busy, 16U);
  EXPECT_EQ(reading.cores[0].total, 100U);
  EXPECT_EQ(reading.cores[1].core, 1);
}

TEST_F(FakeProc, TheMachinesMemoryAndDisks) {
  put("meminfo", "MemTotal:       2048 kB\nMemFree:  1 kB\nMemAvailable:    512 kB\n");
  put("vmstat", "nr_free_pages 5\npgpgin 10\npgpgout 20\n");
  const MachineReading reading = HostReader(machine_.root()).read_machine();
  EXPECT_EQ(reading.memory_bytes, 2048 * 1024);
  EXPECT_EQ(reading.memory_available_bytes, 512 * 1024);
  EXPECT_EQ(reading.disk_read_bytes, 10 * 1024);
  EXPECT_EQ(reading.disk_written_bytes, 20 * 1024);
  EXPECT_FALSE(HostReader(machine_.root() + "/none").read_machine().memory_bytes);
}

TEST_F(FakeProc, OnlyCoresThatTheProcessMayUse) {
  put("stat", "cpu  1 1 1 1 1 1 1 1\ncpu0 1 1 1 1 1 1 1 1\ncpu3 1 1 1 1 1 1 1 1\n");
  put("self/status", "Name:\tx\nCpus_allowed:\t8\nCpus_allowed_list:\t2-3\n");
  const HostReading reading = read();
  ASSERT_EQ(reading.cores.size(), 1U);
  EXPECT_EQ(reading.cores[0].core, 3);
}

TEST_F(FakeProc, TheProgramsNameMayHoldAnything) {
  put("self/stat", "7 (a) b ( 1) S 1 7 7 0 -1 4194304 101 5 3 6 40 10 0 0 20 0 2 0 99 4096 25 1\n");
  const HostReading reading = read();
  EXPECT_EQ(reading.page_faults, 101);
  EXPECT_EQ(reading.major_page_faults, 3);
  EXPECT_EQ(reading.kernel_ns, 10 * (1'000'000'000 / sysconf(_SC_CLK_TCK)));
  EXPECT_EQ(reading.resident_bytes, 25 * sysconf(_SC_PAGESIZE));
}

TEST_F(FakeProc, DiskReadsAreKibibytesPagedIn) {
  put("vmstat", "nr_free_pages 5\npgpgin 3\npgpgout 9\n");
  EXPECT_EQ(read().disk_read_bytes, 3072);
}

TEST_F(FakeProc, WhatIsMissingOrTornIsAbsent) {
  const HostReading none = read();
  EXPECT_FALSE(none.machine || none.resident_bytes || none.disk_read_bytes || none.page_faults);
  EXPECT_TRUE(none.cores.empty());
  put("stat", "cpu  1 2 x\ncpu0\ncpuX 1 2 3 4 5 6 7 8\ncpu1 1 1 1 1 1 1 1 1");
  put("self/stat", "7 (torn");
  put("vmstat", "pgpgin\n");
  const HostReading torn = read();
  EXPECT_FALSE(torn.machine || torn.resident_bytes || torn.disk_read_bytes || torn.page_faults);
  EXPECT_EQ(torn.cores.size(), 1U);
}

TEST_F(FakeProc, WorkersAreTheChildrenThatTorchNamedSo) {
  const std::string own = std::to_string(getpid());
  put("self/task/7/children", own + " 12 ");
  put("self/task/8/children", "");
  put("12/comm", "python\n");
  put(own + "/comm", "pt_data_worker\n");
  HostReader reader(machine_.root());
  EXPECT_TRUE(reader.read().workers.empty());
  reader.find_workers();
  const HostReading reading = reader.read();
  ASSERT_EQ(reading.workers.size(), 1U);
  EXPECT_EQ(reading.workers[0].pid, getpid());
  EXPECT_GT(reading.workers[0].cpu_ns, 0);
}

TEST(HostReading, OfThisProcessAndARealWorker) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t worker = fork();
  if (worker == 0) {
    prctl(PR_SET_NAME, "pt_data_worker");
    static_cast<void>(write(ready[1], "", 1));
    pause();
  }
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  HostReader reader;
  reader.find_workers();
  const HostReading reading = reader.read();
  EXPECT_GT(reading.cpu_ns, 0);
  EXPECT_GT(reading.resident_bytes, 1 << 20);
  if (fs::exists("/proc/self/task/" + std::to_string(getpid()) + "/children")) {
    ASSERT_EQ(reading.workers.size(), 1U);
    EXPECT_EQ(reading.workers[0].pid, worker);
  }
  kill(worker, SIGKILL);
  waitpid(worker, nullptr, 0);
  EXPECT_TRUE(reader.read().workers.empty());  // a worker that has ended is forgotten
  close(ready[0]);
  close(ready[1]);
}

void bind_to(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(core, &set);
  EXPECT_EQ(sched_setaffinity(0, sizeof set, &set), 0);
}

/// The cores of a reading while another thread is bound to `cores`.
std::vector<int> read_beside(const std::vector<int>& cores) {
  std::latch is_bound(1), is_read(1);
  std::thread other([&] {
    bind_to(cores);
    is_bound.count_down();
    is_read.wait();
  });
  is_bound.wait();
  HostReader reader;
  reader.find_workers();
  std::vector<int> read;
  for (const CoreTime& time : reader.read().cores) read.push_back(time.core);
  is_read.count_down();
  other.join();
  return read;
}

TEST(HostReading, OfThreadsThatAreEachBoundToACore) {
  const std::vector<int> all = allowed_cores();
  if (all.size() < 2) GTEST_SKIP() << "there is one core";
  bind_to({all[0]});
  EXPECT_THAT(read_beside({all[1]}), ElementsAre(all[0], all[1]));
  EXPECT_THAT(read_beside(all), ElementsAre(all[0])) << "it has not followed the first one";
  bind_to(all);
  EXPECT_EQ(read_beside({all[1]}), all);
}

TEST(ListHolds, NumbersAndRanges) {
  for (const int core : {0, 1, 2, 5, 63}) EXPECT_TRUE(list_holds("0-2,5,60-63", core)) << core;
  for (const int core : {3, 6, 64}) EXPECT_FALSE(list_holds("0-2,5,60-63", core)) << core;
  EXPECT_TRUE(list_holds("", 7));
  EXPECT_FALSE(list_holds("x-,-", 7));
}

}  // namespace
}  // namespace redline::machine
