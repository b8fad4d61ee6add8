#include "machine/cpu_peaks.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "tests/temporary_folder.h"

namespace redline::machine {
namespace {

class CpuPeaksFile : public ::testing::Test {
 protected:
  const testing::TemporaryFolder place_;
  const std::string file_ = place_.path() + "/deeper/cpu-peaks.json";
};

TEST_F(CpuPeaksFile, KeepsOneMeasurementForEachHost) {
  const CpuPeaks first{"one", "EPYC", 2, 0.24, 0.12, 0.48, 12.5, 1700000000};
  EXPECT_EQ(save_cpu_peaks(first, file_), "");
  EXPECT_EQ(save_cpu_peaks({"two", "M1", 8, 1, 0.5, std::nullopt, 60, 1700000001}, file_), "");
  const auto one = load_cpu_peaks(file_, "one", 2), two = load_cpu_peaks(file_, "two", 8);
  ASSERT_TRUE(one && two);
  EXPECT_EQ(one->model, "EPYC");
  EXPECT_EQ(one->fp32, 0.24);
  EXPECT_EQ(one->fp64, 0.12);
  EXPECT_EQ(one->bf16, 0.48);
  EXPECT_EQ(one->gb_per_s, 12.5);
  EXPECT_EQ(one->measured_s, 1700000000);
  EXPECT_EQ(two->bf16, std::nullopt);
  // A job that may use fewer cores has other peaks.
  EXPECT_FALSE(load_cpu_peaks(file_, "two", 4));
  EXPECT_FALSE(load_cpu_peaks(file_, "three", 8));
  EXPECT_FALSE(load_cpu_peaks("", "one", 2));
}

TEST_F(CpuPeaksFile, ReplacesWhatIsNoneOfItsFiles) {
  std::filesystem::create_directories(std::filesystem::path(file_).parent_path());
  for (const char* text : {"", "[", "[1]", "{}", R"({"schema": 3, "hosts": []})",
                           R"({"schema": "redline.cpu-peaks/1", "hosts": {"one": 3}})"}) {
    ASSERT_TRUE(write_file(file_, text));
    EXPECT_FALSE(load_cpu_peaks(file_, "one", 2)) << text;
  }
  ASSERT_TRUE(write_file(file_, "{}"));
  EXPECT_EQ(save_cpu_peaks({"one", "", 1, 1, 1, std::nullopt, 1, 0}, file_), "");
  EXPECT_TRUE(load_cpu_peaks(file_, "one", 1));
}

TEST(CpuPeaks, AreThoseOfUnitsThatComputeAndMoveMemory) {
  const CpuPeaks peaks = measure_cpu_peaks();
  EXPECT_GE(peaks.cores, 1);
  EXPECT_GT(peaks.fp32, 0);
  EXPECT_GT(peaks.fp64, 0);
  EXPECT_GT(peaks.gb_per_s, 0);
}

}  // namespace
}  // namespace redline::machine
