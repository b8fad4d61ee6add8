#include "profiler/request/record_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/temporary_folder.h"
#include "tests/variables.h"

namespace redline::launch {
namespace {

using ::testing::HasSubstr;

std::string text_of(const Schedule& schedule) {
  std::string text;
  for (const int64_t number :
       {schedule.skip_first, schedule.wait, schedule.warmup, schedule.active, schedule.repeat}) {
    text += std::to_string(number) + " ";
  }
  return text;
}

TEST(PreloadName, IsALinkWithoutBlanksThatStaysWhenTheUserLogsOut) {
  const testing::TemporaryFolder runtime;
  const testing::Variables variables("XDG_RUNTIME_DIR", runtime.path());
  EXPECT_EQ(preload_name("/a/libredline.so"), "/a/libredline.so");
  const std::filesystem::path name = preload_name(runtime / "a b/libredline.so");
  EXPECT_THAT(name.string(), ::testing::StartsWith("/tmp/redline-"));
  std::filesystem::remove(name.parent_path());  // the link
}

TEST(ParseSchedule, WhatIsNotNamedKeepsItsDefault) {
  EXPECT_EQ(text_of(parse_schedule("").value()), "0 1 1 3 1 ");
  EXPECT_EQ(text_of(parse_schedule("active=5").value()), "0 1 1 5 1 ");
  EXPECT_EQ(text_of(parse_schedule("skip_first=9,wait=8,warmup=7,active=6,repeat=0").value()),
            "9 8 7 6 0 ");
}

TEST(ParseSchedule, SaysWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"activ=5", "no such part 'activ'"},
      {"active", "active needs a number"},
      {"active=", "active= is no number"},
      {"active=3x", "active=3x is no number"},
      {"active=99999999999999999999", "active=99999999999999999999 is no number"},
      {"active=0", "active must be at least 1"},
      {"wait=-1", "each number from 0"},
      {"wait=9223372036854775807", "each number from 0 to 10^15"},
      {",", "no such part ''"},
  };
  for (const auto& [text, why] : cases) {
    const auto schedule = parse_schedule(text);
    ASSERT_FALSE(schedule) << text;
    EXPECT_THAT(schedule.error(), HasSubstr(why));
    EXPECT_THAT(schedule.error(), HasSubstr("Example: --schedule "));
  }
}

class Folder : public ::testing::Test {
 protected:
  const testing::TemporaryFolder place_;
  const std::string path_ = place_ / "folder";
};

TEST_F(Folder, IsMadeWithItsParents) {
  EXPECT_TRUE(prepare_directory(path_ + "/a/b"));
  EXPECT_TRUE(std::filesystem::is_empty(path_ + "/a/b"));
}

TEST_F(Folder, ThatCannotBeMadeIsAnError) {
  std::ofstream file(path_);
  const auto result = prepare_directory(path_ + "/a");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error(), "Not a directory");
}

}  // namespace
}  // namespace redline::launch
