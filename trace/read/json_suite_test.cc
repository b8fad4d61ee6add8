// Reads JSONTestSuite's files: valid JSON must pass without an issue, anything else must have one.
//
// Its files are no traces, so each stands inside one: as a top-level value and as a value in an
// event's args. Top-level values are parsed on load; leniencies, with their reasons, are listed in
// tests/json_leniencies.txt. Args are stepped over on load, so what is wrong in them may pass: then
// it must not reach beyond its event, whose text must be just what stands in the file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "tests/paths.h"
#include "trace/emit/json_scan.h"
#include "trace/read/args.h"
#include "trace/read/reader.h"

namespace redline::trace {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kGood =
    R"({"ph": "X", "cat": "cpu_op", "name": "good", "pid": 1, "tid": 1, "ts": 1, "dur": 1})";

std::map<std::string, std::string> suite() {
  std::map<std::string, std::string> files;
  std::error_code absent;
  for (const auto& entry :
       fs::directory_iterator(redline::testing::shared_dir() + "/data/json_suite", absent)) {
    files[entry.path().stem().string()] = read_file(entry.path());
  }
  return files;
}

// Lines "file: reason".
std::set<std::string> leniencies() {
  std::ifstream list(redline::testing::source_dir() + "/tests/json_leniencies.txt");
  std::set<std::string> listed;
  for (std::string line; std::getline(list, line);) {
    if (!line.empty() && line[0] != '#') listed.insert(line.substr(0, line.find(':')));
  }
  return listed;
}

std::string as_top_level_value(const std::string& text) {
  return R"({"schemaVersion": 1, "value": )" + text + R"(, "traceEvents": [)" + kGood + ", " +
         kGood + "]}";
}

std::string event_with(const std::string& text) {
  return R"({"ph": "X", "cat": "cpu_op", "name": "it", "pid": 1, "tid": 2, "ts": 1, "dur": 1, )"
         R"("args": {"value": )" +
         text + "}}";
}

std::string in_args(const std::string& text) {
  return R"({"traceEvents": [)" + event_with(text) + ", " + kGood + "]}";
}

bool is_reported(const std::string& document) {
  const auto trace = parse_trace("suite", document);
  return !trace || !(*trace)->issues().empty();
}

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" \n\r\t");
  return text.substr(first, text.find_last_not_of(" \n\r\t") + 1 - first);
}

TEST(JsonSuite, WhatIsJsonPassesAsItStands) {
  size_t files = 0;
  for (const auto& [name, text] : suite()) {
    if (name[0] != 'y') continue;
    ++files;
    SCOPED_TRACE(name);
    const auto top = parse_trace("suite", as_top_level_value(text));
    ASSERT_TRUE(top) << top.error().message;
    EXPECT_TRUE((*top)->issues().empty()) << (*top)->issues()[0].info().name;
    EXPECT_EQ((*top)->slice_count(), 2U);
    EXPECT_EQ(json::parse((*top)->metadata().top_level_json)["value"], json::parse(text));

    const auto args = parse_trace("suite", in_args(text));
    ASSERT_TRUE(args) << args.error().message;
    EXPECT_TRUE((*args)->issues().empty()) << (*args)->issues()[0].info().name;
    ASSERT_EQ((*args)->slice_count(), 2U);
    EXPECT_EQ(Args(**args, SliceId{1}).raw("value"), trimmed(text));
  }
  if (files == 0) GTEST_SKIP() << "json_suite is absent";
  EXPECT_GE(files, 95U);
}

TEST(JsonSuite, WhatIsNotIsReportedButForTheListedLeniencies) {
  std::set<std::string> silent;
  size_t files = 0;
  for (const auto& [name, text] : suite()) {
    if (name.substr(0, 2) != "n_") continue;
    ++files;
    if (!is_reported(as_top_level_value(text))) silent.insert(name);
  }
  if (files == 0) GTEST_SKIP() << "json_suite is absent";
  EXPECT_GE(files, 187U);
  EXPECT_THAT(silent, ::testing::ContainerEq(leniencies()));
}

TEST(JsonSuite, WhatIsWrongInArgsStaysInItsEvent) {
  size_t reported = 0, silent = 0;
  for (const auto& [name, text] : suite()) {
    if (name[0] == 'y') continue;
    SCOPED_TRACE(name);
    const auto trace = parse_trace("suite", in_args(text));
    ASSERT_TRUE(trace);
    if (!(*trace)->issues().empty()) {
      ++reported;
      continue;
    }
    ++silent;
    ASSERT_EQ((*trace)->slice_count(), 2U);
    EXPECT_EQ(event_text(**trace, SliceId{0}), kGood);
    EXPECT_EQ(event_text(**trace, SliceId{1}), event_with(text));
  }
  if (reported + silent == 0) GTEST_SKIP() << "json_suite is absent";
  EXPECT_GT(reported, 40U);
}

// Reads files that may be either, and all files as documents of their own. Nothing may crash or run
// for ever.
TEST(JsonSuite, NothingElseBreaksTheReader) {
  for (const auto& [name, text] : suite()) {
    for (const std::string& document : {text, as_top_level_value(text), in_args(text)}) {
      const auto trace = parse_trace("suite", document);
      EXPECT_TRUE(trace || !trace.error().message.empty()) << name;
    }
  }
}

}  // namespace
}  // namespace redline::trace
