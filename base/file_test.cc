#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "tests/temporary_folder.h"

namespace redline {
namespace {

namespace fs = std::filesystem;

class InAFolder : public ::testing::Test {
 protected:
  const testing::TemporaryFolder place_;
  const std::string folder_ = place_.path();
};

using ReadFile = InAFolder;
using WriteFile = InAFolder;

TEST_F(ReadFile, AlsoOfTheKernel) {
  EXPECT_EQ(read_file("/proc/self/stat").substr(0, 1 + std::to_string(getpid()).size()),
            std::to_string(getpid()) + " ");
  EXPECT_EQ(read_file(folder_ + "/none"), "");
  EXPECT_EQ(read_file(folder_), "");
}

using AGuardedDescriptor = InAFolder;

TEST_F(AGuardedDescriptor, IsNoOtherFileThatGotItsNumber) {
  const auto made = [&](const char* name) {
    return ::open((folder_ + name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  };
  const int number = made("/ours");
  {
    GuardedDescriptor ours(number);
    EXPECT_EQ(ours.get(), number);
    GuardedDescriptor moved = std::move(ours);
    EXPECT_EQ(moved.get(), number);
    ::close(number);
    EXPECT_EQ(moved.get(), -1);
    EXPECT_EQ(::write(moved.get(), "x", 1), -1);
    EXPECT_EQ(error_of_guarded(), "the program has closed this file");
    ASSERT_EQ(made("/the job's"), number);
    EXPECT_EQ(moved.get(), -1);
    EXPECT_TRUE(moved.was_opened());
  }
  EXPECT_EQ(::close(number), 0) << "it stays open";
  EXPECT_FALSE(GuardedDescriptor().was_opened());
  EXPECT_FALSE(GuardedDescriptor(-1).was_opened());
  { const GuardedDescriptor closed(::open("/dev/null", O_RDWR | O_CLOEXEC)); }
  EXPECT_EQ(::close(number), -1);
}

TEST_F(AGuardedDescriptor, WithoutANameIsNoFileThatHasOne) {
  const std::string path = folder_ + "/file";
  const int number = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const std::string kept = folder_ + "/kept";
  ASSERT_EQ(::link(path.c_str(), kept.c_str()), 0);
  const GuardedDescriptor named(::dup(number));
  ::unlink(path.c_str());
  ::unlink(kept.c_str());
  EXPECT_GE(named.get(), 0) << "whoever deletes it does not close it";
  const GuardedDescriptor nameless(number);
  EXPECT_EQ(nameless.get(), number);
}

TEST_F(WriteFile, TheUmaskDecidesWhetherTheGroupMayWrite) {
  const std::string path = folder_ + "/best.json";
  const auto mode_with = [&](mode_t umask) {
    const mode_t before = ::umask(umask);
    EXPECT_TRUE(write_file(path, "x").has_value());
    ::umask(before);
    struct stat file {};
    EXPECT_EQ(::stat(path.c_str(), &file), 0);
    return file.st_mode & 0777;
  };
  EXPECT_EQ(mode_with(0002), 0664U);
  EXPECT_EQ(mode_with(0027), 0640U);
  EXPECT_EQ(mode_with(0), 0664U) << "never by everybody";
}

TEST_F(WriteFile, SeveralProcessesMayWriteTheSameFile) {
  const std::string path = folder_ + "/best.json";
  const auto writes_often = [&path] {
    bool succeeds = true;
    for (int i = 0; i < 100; ++i) succeeds = write_file(path, "whole").has_value() && succeeds;
    return succeeds;
  };
  const pid_t other = fork();
  ASSERT_GE(other, 0);
  if (other == 0) _exit(writes_often() ? 0 : 1);
  EXPECT_TRUE(writes_often());
  int status = -1;
  ASSERT_EQ(waitpid(other, &status, 0), other);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read_file(path), "whole");
}

TEST_F(WriteFile, ReplacesTheWholeAndLeavesNothingBeside) {
  const std::string path = folder_ + "/best.json";
  const std::string large(100'000, 'x');
  ASSERT_TRUE(write_file(path, large));
  EXPECT_EQ(read_file(path), large);
  ASSERT_TRUE(write_file(path, "short"));
  EXPECT_EQ(read_file(path), "short");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

TEST_F(WriteFile, SaysWhyItCannot) {
  const std::string path = folder_ + "/no/file";
  EXPECT_EQ(write_file(path, "x").error(), path + ": No such file or directory");
  EXPECT_EQ(write_file(folder_, "x").error(), folder_ + ": Is a directory");
  EXPECT_EQ(write_file("/dev/full", "x").error(), "/dev/full: No space left on device");
}

TEST_F(WriteFile, SaysWhoElseMayHaveChangedAFile) {
  const std::string path = folder_ + "/best.json";
  EXPECT_EQ(foreign_writer(path), std::nullopt);
  ASSERT_TRUE(write_file(path, "{}"));
  EXPECT_EQ(foreign_writer(path), std::nullopt);
  ASSERT_EQ(chmod(path.c_str(), 0666), 0);
  EXPECT_EQ(foreign_writer(path),
            path + " can be changed by every user of this machine: chmod o-w " + path);
  ASSERT_EQ(chmod(path.c_str(), 0664), 0);
  EXPECT_EQ(foreign_writer(path), std::nullopt) << "a group is a choice";
  if (geteuid() != 0) return;  // only root can give a file away
  const int given = chown(path.c_str(), 12345, 0);
  if (given != 0 && errno == EINVAL) GTEST_SKIP() << "this container has no other users";
  ASSERT_EQ(given, 0);
  EXPECT_EQ(foreign_writer(path),
            path + " belongs to another user, who may change it: copy it, and look at the copy");
}

TEST_F(WriteFile, ALinkStaysOne) {
  const std::string link = folder_ + "/latest", other = folder_ + "/other/file";
  fs::create_directory(folder_ + "/other");
  fs::create_symlink("other/file", folder_ + "/first");
  fs::create_symlink(folder_ + "/first", link);
  for (const std::string text : {"new", "newer"}) {
    ASSERT_TRUE(write_file(link, text));
    EXPECT_EQ(read_file(other), text);
    EXPECT_TRUE(fs::is_symlink(link));
  }
  fs::create_symlink(link, folder_ + "/circle");
  fs::remove(link);
  fs::create_symlink("circle", link);
  EXPECT_FALSE(write_file(link, "text"));
}

TEST_F(WriteFile, WhatIsOpenIsWrittenTo) {
  const std::string path = folder_ + "/output", link = folder_ + "/stdout";
  const FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_TRUE(write_all(file.get(), "before "));
  fs::create_symlink("/proc/self/fd/" + std::to_string(file.get()), link);
  ASSERT_TRUE(write_file(link, "after"));
  EXPECT_TRUE(fs::is_symlink(link));
  char text[13] = "";
  EXPECT_EQ(::pread(file.get(), text, sizeof text - 1, 0), 12);
  EXPECT_STREQ(text, "before after");
}

TEST_F(WriteFile, APipeIsWrittenToAndStays) {
  const std::string pipe = folder_ + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const FileDescriptor end(::open(pipe.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(write_file(pipe, "words"));
  char heard[6] = "";
  ASSERT_EQ(::read(end.get(), heard, 5), 5);
  EXPECT_STREQ(heard, "words");
  EXPECT_TRUE(fs::is_fifo(pipe));
}

}  // namespace
}  // namespace redline
