#include "trace/emit/output_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "base/file.h"
#include "tests/temporary_folder.h"
#include "trace/emit/spooled_file.h"
#include "trace/emit/write_pace.h"

namespace redline::trace {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }
  [[nodiscard]] std::string content(const std::string& name) const { return read_file(path(name)); }
  static size_t open_files() {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
  }

  const testing::TemporaryFolder folder_;
};

TEST_F(OutputFileTest, GrowsIsCutReadAndRenamed) {
  std::ofstream(path("a")) << "what an earlier run left behind";
  const size_t before = open_files();
  {
    OutputFile file(path("a"));
    EXPECT_TRUE(file.ok());
    file.write("");
    EXPECT_EQ(file.size(), 0U);
    file.write("0123456789");
    file.begin_sync();
    file.write("abc");
    EXPECT_EQ(file.size(), 13U);
    EXPECT_EQ(content("a"), "0123456789abc");
    EXPECT_EQ(file.read(8, 3), "89a");
    EXPECT_EQ(file.read(11, 100), "bc");
    EXPECT_EQ(file.read(13, 1), "");
    file.truncate(13);
    EXPECT_EQ(file.size(), 13U);
    file.truncate(4);
    EXPECT_EQ(file.size(), 4U);
    file.write("xy");
    file.begin_sync();
    file.sync();
    EXPECT_EQ(content("a"), "0123xy");
    EXPECT_TRUE(file.rename(path("b")).has_value());
    EXPECT_EQ(file.path(), path("b"));
    EXPECT_FALSE(fs::exists(path("a")));
    EXPECT_EQ(file.error(), "");
    EXPECT_EQ(open_files(), before + 1);
    file.remove();
    EXPECT_FALSE(fs::exists(path("b")));
  }
  EXPECT_EQ(open_files(), before);
}

TEST_F(OutputFileTest, AMovedFileGoesOnElsewhere) {
  OutputFile none;
  EXPECT_FALSE(none.ok());
  OutputFile file(path("a"));
  file.write("one");
  OutputFile other(std::move(file));
  other.write("two");
  none = std::move(other);
  none.write("three");
  EXPECT_EQ(none.size(), 11U);
  EXPECT_EQ(none.path(), path("a"));
  EXPECT_EQ(content("a"), "onetwothree");
  OutputFile failed(path("none/a"));
  none = std::move(failed);
  EXPECT_EQ(none.error(), "cannot create " + path("none/a") + ": No such file or directory");
  EXPECT_FALSE(none.ok());
}

TEST_F(OutputFileTest, KeepsItsFirstErrorAndWritesNothingMore) {
  OutputFile file(path("a"));
  file.write("text");
  EXPECT_EQ(file.read(UINT64_MAX, 5), "");
  const std::string first = "cannot read " + path("a") + ": Invalid argument";
  EXPECT_EQ(file.error(), first);
  file.write("more");
  file.truncate(1);
  EXPECT_EQ(content("a"), "text");
  EXPECT_EQ(file.rename(path("b")).error(), first);
  EXPECT_FALSE(fs::exists(path("b")));
  OutputFile full("/dev/full");
  full.write("text");
  full.write("more");
  EXPECT_EQ(full.error(), "cannot write /dev/full: No space left on device");
  EXPECT_EQ(full.size(), 0U);
  full.remove();
  EXPECT_TRUE(fs::exists("/dev/full"));
  OutputFile special("/dev/null");
  special.write("text");
  special.sync();
  EXPECT_EQ(special.error(), "") << "what cannot be synchronised is no error";
}

TEST_F(OutputFileTest, ANameThatItCannotGetLeavesItAsItWas) {
  OutputFile file(path("a"));
  file.write("text");
  fs::create_directory(path("folder"));
  EXPECT_EQ(file.rename(path("none/b")).error(),
            "cannot rename " + path("a") + " to " + path("none/b") + ": No such file or directory");
  EXPECT_EQ(file.rename(path("folder")).error(), path("folder") + ": is not a file");
  EXPECT_EQ(file.error(), "");
  file.write(" and more");
  EXPECT_TRUE(file.rename(path("b")).has_value());
  EXPECT_EQ(content("b"), "text and more");
}

TEST_F(OutputFileTest, AFileOfTheJobThatGotItsNumberIsLeftAlone) {
  const int number = ::dup(STDERR_FILENO);
  ::close(number);
  {
    OutputFile file(path("a"));
    file.write("text");
    ::close(number);  // the job closes what it did not open
    ASSERT_EQ(::open(path("model").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600), number);
    ASSERT_EQ(::write(number, "weights", 7), 7);
    file.begin_sync();
    file.truncate(2);
    EXPECT_EQ(file.error(), "cannot shorten " + path("a") + ": the program has closed this file");
    file.write("more");
    OutputFile other(path("b"));  // another number
    EXPECT_TRUE(other.ok());
    file.remove();
  }
  EXPECT_FALSE(fs::exists(path("a")));
  EXPECT_EQ(::close(number), 0);
  EXPECT_EQ(content("model"), "weights");
}

TEST_F(OutputFileTest, TheUmaskDecidesWhetherTheGroupMayWrite) {
  const mode_t before = ::umask(0002);
  { OutputFile file(path("a")); }
  ::umask(before);
  EXPECT_EQ(static_cast<unsigned>(fs::status(path("a")).permissions()), 0664U);
}

TEST_F(OutputFileTest, APrivateFileIsItsOwnersAloneUntilItHasItsName) {
  const auto mode_of = [&](const char* name) {
    return static_cast<unsigned>(fs::status(path(name)).permissions());
  };
  const mode_t before = ::umask(0027);
  OutputFile file(path("a"), true);
  EXPECT_EQ(mode_of("a"), 0600U);
  EXPECT_FALSE(file.rename(path("none/b")));
  EXPECT_EQ(mode_of("a"), 0600U);
  EXPECT_TRUE(file.rename(path("b")));
  EXPECT_EQ(mode_of("b"), 0640U);
  ::umask(before);
}

class SpooledFileTest : public OutputFileTest {
 protected:
  /// Text of `size` bytes that does not shrink much.
  static std::string text_of(size_t size) {
    std::string text;
    uint32_t state = 1;
    while (text.size() < size) {
      state = state * 1'664'525 + 1'013'904'223;
      text += static_cast<char>(' ' + (state >> 24) % 90);
    }
    return text;
  }
  [[nodiscard]] std::string unzipped(const std::string& name) const {
    gzFile file = gzopen(path(name).c_str(), "rb");
    std::string text(6'000'000, '\0');
    text.resize(static_cast<size_t>(gzread(file, text.data(), static_cast<unsigned>(text.size()))));
    EXPECT_EQ(gzclose(file), Z_OK);
    return text;
  }
};

TEST_F(SpooledFileTest, EachCopyIsWhole) {
  // From less than what is copied at a time to several times as much.
  for (const size_t size : {0UL, 10UL, 1UL << 20, (1UL << 20) + 1, 5'000'000UL}) {
    SCOPED_TRACE(size);
    const std::string text = text_of(size);
    SpooledFile file(path("spool"));
    for (size_t at = 0; at < text.size(); at += 300'000) file.append(text.substr(at, 300'000));
    file.flush();
    EXPECT_EQ(file.bytes_written(), fs::file_size(path("spool")));
    ASSERT_TRUE(file.save(path("plain"), "]"));
    EXPECT_EQ(content("plain"), text + "]");
    EXPECT_TRUE(fs::exists(path("spool")));
    ASSERT_TRUE(file.save(path("moved.gz"), "1"));
    EXPECT_FALSE(fs::exists(path("spool")));
    EXPECT_EQ(file.path(), path("moved.gz"));
    ASSERT_TRUE(file.save(path("copied.gz"), "22"));
    ASSERT_TRUE(file.save(path("plain"), "333"));
    EXPECT_EQ(unzipped("moved.gz"), text + "1");
    EXPECT_EQ(unzipped("copied.gz"), text + "22");
    EXPECT_EQ(content("plain"), text + "333");
    EXPECT_EQ(file.error(), "");
  }
}

TEST_F(SpooledFileTest, APaceHoldsTheTextBackUntilItIsSaved) {
  const std::string text = text_of(3'000'000);
  WritePace pace;
  pace.set(100'000);
  SpooledFile file(path("spool"), &pace);
  file.append(text);
  file.flush();
  EXPECT_FALSE(file.is_written());
  EXPECT_GT(file.bytes_written(), 0U);
  EXPECT_LT(file.bytes_written(), 2'000'000U);
  EXPECT_EQ(file.bytes_written(), fs::file_size(path("spool")));
  pace.set(1 << 30);
  ASSERT_TRUE(file.save(path("plain"), "]"));
  EXPECT_TRUE(file.is_written());
  EXPECT_EQ(content("plain"), text + "]");
  pace.lift();
  ASSERT_TRUE(file.save(path("moved.gz"), "1"));
  EXPECT_EQ(unzipped("moved.gz"), text + "1");
}

TEST_F(SpooledFileTest, BeyondWhatMayWaitTheWriterWaits) {
  WritePace pace;
  pace.set(256 << 20);
  SpooledFile file(path("spool"), &pace);
  const std::string text = text_of(1 << 20);
  for (int megabytes = 0; megabytes < 50; ++megabytes) {
    file.append(text);
    if (megabytes == 25) pace.set(64 << 20);
  }
  file.flush();
  EXPECT_GT(file.bytes_written() + SpooledFile::kMostWaiting, 30'000'000U);
  ASSERT_TRUE(file.save(path("moved.gz"), ""));
}

TEST_F(SpooledFileTest, WhatWasNeverSavedGoesUnlessTheDiskWasFull) {
  { SpooledFile(path("spool")).append("text"); }
  EXPECT_FALSE(fs::exists(path("spool")));
  {
    SpooledFile file(path("spool"));
    file.append("text");
    file.flush();
    EXPECT_FALSE(file.save(path("none/a"), ""));
    EXPECT_FALSE(fs::exists(path("none/a.partial")));
  }
  EXPECT_FALSE(fs::exists(path("spool")));
  {
    SpooledFile file(path("spool"));
    file.append("text");
    file.flush();
    EXPECT_FALSE(file.save(path("none/a.gz"), ""));
    EXPECT_EQ(file.error(), "");
  }
  EXPECT_TRUE(fs::exists(path("spool"))) << "an error that stopped it leaves what it has";
}

TEST_F(SpooledFileTest, AfterANameThatCannotBeAnotherOneDoes) {
  const std::string text = text_of(100'000);
  fs::create_directory(path("folder.gz"));
  {
    SpooledFile file(path("spool"));
    file.append(text);
    file.flush();
    EXPECT_EQ(file.save(path("folder.gz"), "1").error(), path("folder.gz") + ": is not a file");
    const std::string partial = partial_path(path("none/a.gz"));
    EXPECT_EQ(file.save(path("none/a.gz"), "22").error(),
              "cannot create " + partial + ": No such file or directory");
    ASSERT_TRUE(file.save(path("plain"), "]"));
    EXPECT_EQ(content("plain"), text + "]");
    ASSERT_TRUE(file.save(path("moved.gz"), "333"));
    EXPECT_EQ(unzipped("moved.gz"), text + "333");
    EXPECT_FALSE(fs::exists(path("spool")));
  }
}

}  // namespace
}  // namespace redline::trace
