#include "profiler/cupti/record_spool.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/full_disk.h"
#include "tests/temporary_folder.h"

namespace redline::cupti {
namespace {

using Bytes = std::vector<uint8_t>;

/// The number that the next opened file will get.
int next_file() {
  const int file = dup(STDERR_FILENO);
  close(file);
  return file;
}

off_t size_of(int file) {
  struct stat info {};
  EXPECT_EQ(fstat(file, &info), 0);
  return info.st_size;
}

TEST(RecordSpool, GivesBackWhatItTook) {
  RecordSpool spool(::testing::TempDir());
  const auto first = spool.write(Bytes(1000, 1));
  const auto second = spool.write(Bytes(3000, 2));
  ASSERT_TRUE(first && second);
  Bytes read;
  EXPECT_TRUE(spool.read(*second, read));
  EXPECT_EQ(read, Bytes(3000, 2));
  EXPECT_TRUE(spool.read(*first, read));
  EXPECT_EQ(read, Bytes(1000, 1));
  EXPECT_EQ(first->offset, 0U);
  EXPECT_EQ(second->offset, 1000U);
  spool.clear();
  EXPECT_FALSE(spool.read(*second, read));
  const auto again = spool.write(Bytes(10, 4));
  EXPECT_EQ(again->offset, 0U);
  EXPECT_TRUE(spool.read(*again, read));
  EXPECT_EQ(read, Bytes(10, 4));
  EXPECT_FALSE(spool.read({0, 11}, read));
}

TEST(RecordSpool, ItsFileHasNoNameAndGoes) {
  const testing::TemporaryFolder folder;
  const int file = next_file();
  {
    RecordSpool spool(folder.path());
    spool.clear();
    EXPECT_EQ(next_file(), file) << "it is only made when it is needed";
    EXPECT_TRUE(spool.write(Bytes(10, 1)));
    EXPECT_EQ(next_file(), file + 1);
    EXPECT_EQ(fcntl(file, F_GETFD), FD_CLOEXEC);
  }
  EXPECT_EQ(next_file(), file);
  EXPECT_EQ(rmdir(folder.path().c_str()), 0);
}

TEST(RecordSpool, IsNeverLargerThanItsLimit) {
  RecordSpool spool(::testing::TempDir());
  const uint8_t byte = 1;
  // Nothing is read of what is refused.
  EXPECT_FALSE(spool.write(std::span(&byte, RecordSpool::kMostBytes + 1)));
  EXPECT_TRUE(spool.write(std::span(&byte, 1)));
  EXPECT_FALSE(spool.write(std::span(&byte, RecordSpool::kMostBytes)));
}

TEST(RecordSpool, TakesNothingWhereItMayNotWrite) {
  const int file = next_file();
  RecordSpool spool("/nowhere");
  EXPECT_FALSE(spool.write(Bytes(10, 1)));
  Bytes read;
  EXPECT_FALSE(spool.read({0, 1}, read));
  EXPECT_EQ(next_file(), file);
}

TEST(RecordSpool, KeepsNoPartOfWhatDoesNotFitOnTheDisk) {
  const testing::FullDisk disk(5000);
  const int file = next_file();
  RecordSpool spool(::testing::TempDir());
  EXPECT_TRUE(spool.write(Bytes(1000, 1)));
  EXPECT_FALSE(spool.write(Bytes(9000, 2)));
  EXPECT_EQ(size_of(file), 1000);
  EXPECT_TRUE(spool.write(Bytes(2000, 3)));
}

TEST(RecordSpool, AFileOfTheJobThatGotItsNumberIsLeftAlone) {
  const testing::TemporaryFolder folder;
  const int file = next_file();
  {
    RecordSpool spool(folder.path());
    EXPECT_TRUE(spool.write(Bytes(1000, 1)));
    close(file);  // the job closes what it did not open
    ASSERT_EQ(open((folder / "model").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600), file);
    EXPECT_FALSE(spool.write(Bytes(1000, 2)));
    Bytes read;
    EXPECT_FALSE(spool.read({0, 1}, read));
    ASSERT_EQ(write(file, "text", 4), 4);
  }
  EXPECT_EQ(size_of(file), 4);
  close(file);
}

TEST(RecordSpool, LeavesTheDiskAlsoWhereAForkedProcessHasItsFile) {
  const int file = next_file();
  int inherited = -1;
  {
    RecordSpool spool(::testing::TempDir());
    EXPECT_TRUE(spool.write(Bytes(1000, 1)));
    inherited = dup(file);
    EXPECT_EQ(size_of(inherited), 1000);
  }
  EXPECT_EQ(size_of(inherited), 0);
  close(inherited);
}

}  // namespace
}  // namespace redline::cupti
