#include "tuner/trial/trial_files.h"

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "machine/kernel_text.h"
#include "tests/temporary_folder.h"
#include "tests/variables.h"
#include "tuner/trial/trial_start.h"

namespace redline::tuner {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

TEST(Metric, TheLastMatchCounts) {
  const std::string pattern = R"(([0-9.eE+-]+) img/s)";
  EXPECT_EQ(last_match("1 img/s\n2.5e2 img/s 3 img/s\nend", pattern), 3.0);
  EXPECT_EQ(last_match("7 img/s\n... img/s\n", pattern), 7.0) << "'...' is no number";
  for (const std::string& text :
       {std::string("nothing"), std::string(), std::string(1 << 20, '1')}) {
    EXPECT_EQ(last_match(text, "(x)").error(), "no line on stdout matches --metric");
  }
  EXPECT_EQ(last_match("... img/s", pattern).error(), "--metric takes '...', which is no number");
  EXPECT_EQ(last_match("abc\n", "^(.*)$").error(), "--metric takes 'abc', which is no number")
      << "behind the last line is no empty one";
  EXPECT_EQ(last_match("rate", "rate([0-9]*)").error(), "--metric takes '', which is no number");
  EXPECT_EQ(last_match("done", "rate ([0-9]+)|done").error(), "no line on stdout matches --metric")
      << "its group took nothing";
}

TEST(Metric, ANumberCountsAsAWhole) {
  const std::string digits = "rate ([0-9.]+)", all = "rate ([0-9.,e+-]+)";
  EXPECT_EQ(last_match("rate 1.1e+03 img/s", digits), 1100.0);
  EXPECT_EQ(last_match("rate 95.5, loss 2", "rate ([0-9]+)"), 95.5);
  EXPECT_EQ(last_match("5-3", "5(-[0-9]+)"), -3.0) << "5 is another number";
  EXPECT_EQ(last_match("rate 1,350.0 img/s", all), 1350.0);
  EXPECT_EQ(last_match("rate 12,345,678", all), 12345678.0);
  EXPECT_EQ(last_match("rate -1.5e-3", all), -0.0015);
  for (const char* text : {"1234,567", "1,35", "1,350,5", "1,"}) {
    EXPECT_FALSE(last_match("rate " + std::string(text), all)) << text;
  }
}

TEST(Metric, APartOfANumberIsNone) {
  const auto error = [](const char* line, const char* pattern) {
    const auto number = last_match(line, pattern);
    return number ? std::to_string(*number) : number.error().substr(0, number.error().find('.'));
  };
  EXPECT_EQ(last_match("rate 1,350", "rate ([0-9.]+)").error(),
            "--metric takes '1' of '1,350'. Let its group take the whole number, as "
            "([0-9.,e+-]+) does; if it is a number of its own, write the comma beside the group");
  EXPECT_THAT(error("1,350.0 img/s", "([0-9.]+) img/s"), HasSubstr("takes '350"));
  EXPECT_THAT(error("1.1e+03 img/s", "([0-9.]+) img/s"), HasSubstr("takes '03' of '1"));
  EXPECT_THAT(error("rate: 1350", ".*([0-9.]+)"), HasSubstr("takes '0' of '1350'"));
  EXPECT_EQ(last_match("450,123", "([0-9]+),"), 450.0) << "the pattern says that the comma divides";
  EXPECT_EQ(last_match("450,123.5", ",([0-9]+)"), 123.5);
  EXPECT_EQ(last_match("450,1234", "^([0-9]+)"), 450.0) << "no thousands";
}

TEST(Metric, ANumberInThousandsIsNoPlainOne) {
  EXPECT_EQ(last_match("speed 1.95kit/s", "speed ([0-9.]+)").error(),
            "--metric takes '1.95' of '1.95k' and fits without the k, too. If each line has it, "
            "write the k behind the group, else let the command print plain numbers");
  for (const char* pattern : {"([0-9]+)", "([0-9.]+).*it/s", "([0-9.]+)[kM]?it/s", "([0-9.]+)k?it",
                              "([0-9.]+)[kM]it/s"}) {
    EXPECT_FALSE(last_match("speed 1.95kit/s", pattern)) << pattern;
  }
  EXPECT_FALSE(last_match("2M images/s", "([0-9.]+)"));
  EXPECT_EQ(last_match("speed 1.95kit/s", "([0-9.]+)kit/s"), 1.95);
  EXPECT_EQ(last_match("35.5TFLOPS", R"(([0-9.]+)\s*TFLOPS)"), 35.5);
  EXPECT_EQ(last_match("980it/s", "([0-9.]+)[kM]?it/s"), 980.0);
  EXPECT_EQ(last_match("980 kittens", "([0-9.]+)"), 980.0) << "a word of its own";
}

TEST(Metric, AProgressBarIsManyLines) {
  std::string bar;
  for (int step = 0; step < 2000; ++step) {
    bar += "\rtrain " + std::to_string(step) + "/2000 " + std::to_string(10 + step) + " it/s";
  }
  EXPECT_EQ(last_match(bar + "\n", "([0-9.]+) it/s"), 2009.0);
  EXPECT_EQ(last_match("rate 5\r\n", "^rate ([0-9]+)$"), 5.0);
}

TEST(Metric, OfALongLineTheEndIsRead) {
  EXPECT_EQ(last_match("rate 1 " + std::string(10'000, '.') + " rate 2", "rate ([0-9]+)"), 2.0);
  const auto number_before = [](size_t characters) {
    return last_match("rate 7" + std::string(characters - 6, '.'), "rate ([0-9]+)");
  };
  EXPECT_EQ(number_before(4096), 7.0);
  EXPECT_FALSE(number_before(4097));
  EXPECT_EQ(last_match(std::string(5000, '.') + "\nrate 7", "^rate ([0-9]+)"), 7.0)
      << "it is the line that may be long, not the text";
}

TEST(Metric, ColoursAreNoPartOfALine) {
  EXPECT_EQ(last_match("rate=\x1b[32m11.5\x1b[0m\n", "rate=.*?([0-9.]+)"), 11.5);
  EXPECT_EQ(last_match("\x1b[2K\x1b[1;38;5;33mrate\x1b[0m 7", "^rate ([0-9]+)$"), 7.0);
  EXPECT_EQ(last_match("rate 7\x1b[\nrate 8\x1b[3", "rate ([0-9]+)$"), 8.0) << "cut off";
  EXPECT_EQ(last_size("peak \x1b[1m3\x1b[0m GiB", "peak ([0-9]+)"), 3ULL << 30);
}

TEST(Metric, AMemoryIsReadWithItsUnit) {
  EXPECT_EQ(last_size("peak 77\n", "peak ([0-9]+)"), 77U);
  EXPECT_EQ(last_size("peak 1.5 GiB, free 2 GiB", "peak ([0-9.]+)"), 3U << 29);
  EXPECT_EQ(last_size("peak 2MB", "peak ([0-9]+ ?[A-Z]+)"), 2'000'000U);
  EXPECT_EQ(last_size("peak 77 so far", "peak ([0-9]+)"), 77U) << "'so' is no unit";
  EXPECT_EQ(last_size("peak 1.5 GiB", "peak ([0-9]+)"), 3U << 29);
  EXPECT_EQ(last_size("peak 1,536 MiB", "peak ([0-9,]+)"), 3U << 29);
  EXPECT_THAT(last_size("peak 1,536 MiB", "peak ([0-9]+)").error(),
              HasSubstr("--memory-metric takes '1' of '1,536'"));
  EXPECT_FALSE(last_size("peak ?", "peak (.)"));
  EXPECT_EQ(last_size("peak 3.2 gb", "peak ([0-9.]+)"), 3'200'000'000U);
  EXPECT_EQ(last_size("peak 3.5 Gi", "peak ([0-9.]+)"), 7ULL << 29);
  EXPECT_EQ(last_size("VmHWM:\t 3355443 kB", R"(VmHWM:\s*([0-9]+))"), 3'355'443'000U);
  EXPECT_EQ(last_size("peak 77.0 bytes", "peak ([0-9.]+)"), 77U);
  EXPECT_EQ(last_size("peak 3.5 GiB so far", "peak ([0-9.]+ GiB)"), 7ULL << 29);
  for (const char* line : {"peak 3.2 gigs", "peak 3.2 so far", "peak 9999999 TiB"}) {
    EXPECT_EQ(last_size(line, "peak ([0-9.]+)").error(),
              "no line on stdout has what --memory-metric takes")
        << line;
  }
}

TEST(HangStacks, OnlyWhoCatchesTheSignalIsAsked) {
  EXPECT_TRUE(machine::has_signal("SigIgn:\t0\nSigCgt:\t0000000000000005\n", "SigCgt:", 1));
  EXPECT_FALSE(machine::has_signal("SigCgt:\t0000000000000005\n", "SigCgt:", 2));
  EXPECT_TRUE(machine::has_signal("SigCgt:\t0000400000000000\n", "SigCgt:", 47));
  EXPECT_FALSE(machine::has_signal("", "SigCgt:", 1));
  EXPECT_EQ(hang_stacks({getpid()}, "/tmp"), "") << "and this process lives on";
}

class TrialFolder : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((fs::path(path_) / name).parent_path());
    std::ofstream(fs::path(path_) / name) << text;
  }
  const testing::TemporaryFolder place_;
  const std::string path_ = place_.path();
};

TEST_F(TrialFolder, AStackIsTheInnermostFramesOfTheThreadThatWasAsked) {
  EXPECT_EQ(hang_stacks({}, path_), "");
  write("stacks.rank 1, pid 8", "Thread 0x1 (most recent call first):\n  File one\n  File two\n\n");
  write("stacks.rank 0, pid 7",
        "Thread 0x1 (most recent call first):\n  File no\n\n"
        "Current thread 0x2 (most recent call first):\n  File 1\n  File 2\n  File 3\n  File 4\n"
        "  File 5\n  File 6\n  File 7\n");
  write("stacks.rank 2, pid 9", "Thread 0x1 (most recent call first):\n  File two\n");
  write("stacks.rank 3, pid 10", "");
  write("other", "Current thread 0x2 (most recent call first):\n  File 1\n");
  EXPECT_EQ(
      hang_stacks({}, path_),
      "rank 0, pid 7 was here, innermost call first:\n  File 1\n  File 2\n  File 3\n  File 4\n"
      "  File 5\n  File 6\n"
      "rank 1, pid 8 was here, innermost call first:\n  File one\n  File two\n"
      "rank 2, pid 9 was here, innermost call first:\n  File two\n");
}

TEST_F(TrialFolder, ErrorFilesOfTorchelasticAreFoundBelowIt) {
  write("error.json", "a");
  write("run/attempt_0/1/error.json", "b");
  write("run/attempt_0/1/error.txt", "c");
  EXPECT_THAT(elastic_errors(path_), ::testing::UnorderedElementsAre("a", "b"));
  EXPECT_TRUE(elastic_errors(path_ + "/none").empty());
  write("large/error.json", std::string(70'000, 'x'));
  EXPECT_THAT(elastic_errors(path_ + "/large"), ::testing::ElementsAre(::testing::SizeIs(65'536)));
}

TEST_F(TrialFolder, OnlyItsOutputStays) {
  for (const char* name :
       {"stdout", "stderr", "reports", "reports.d/rank_0", "stacks/stacks.pid 7", "tmp/a/b"}) {
    write(name, "x");
  }
  TrialPaths{path_}.remove();
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(path_)) left.push_back(entry.path().filename());
  EXPECT_THAT(left, ::testing::UnorderedElementsAre("stdout", "stderr"));
}

TEST(TrialPaths, SocketsOfATrialFitBelowItsTemporaryFolder) {
  const testing::TemporaryFolder goes_at_logout;
  const testing::Variables variables("XDG_RUNTIME_DIR", goes_at_logout.path());
  const std::string folder = "/tmp/" + std::string(200, 'x');
  const TrialPaths longest{"/tmp/" + std::string(66, 'x')}, longer{"/tmp/" + std::string(67, 'x')};
  EXPECT_EQ(longest.temporary().size(), 75U);
  EXPECT_EQ(longest.temporary(), longest.directory / "tmp");
  EXPECT_NE(longer.temporary(), longer.directory / "tmp");
  const TrialPaths near{"/tmp/s/1"}, far{folder + "/1"}, next{folder + "/2"};
  EXPECT_EQ(near.temporary(), "/tmp/s/1/tmp");
  EXPECT_LE(far.temporary().size(), 75);
  EXPECT_THAT(far.temporary(), ::testing::StartsWith("/tmp/redline-"));
  EXPECT_EQ(far.temporary(), TrialPaths{folder + "/1"}.temporary());
  EXPECT_NE(far.temporary(), next.temporary());
}

}  // namespace

}  // namespace redline::tuner
