#include "trace/model/issues.h"
#include "base/file.h"
#include "tests/paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>
#include <string>

namespace redline::trace {
namespace {

namespace fs = std::filesystem;

// Makes "kEventCut" of "event_cut".
std::string enumerator_of(std::string_view name) {
  std::string text = "k";
  bool is_first = true;
  for (const char c : name) {
    if (c != '_') text += is_first ? static_cast<char>(std::toupper(c)) : c;
    is_first = c == '_';
  }
  return text;
}

TEST(Issues, EachHasASentenceAndACure) {
  std::set<std::string_view> names;
  for (const IssueInfo& info : issue_table()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    for (const std::string_view sentence : {info.sentence, info.advice}) {
      EXPECT_THAT(sentence, ::testing::EndsWith(".")) << info.name;
      EXPECT_GE(sentence.size(), 20U) << info.name;
      EXPECT_LE(sentence.size(), 69U) << info.name << " does not fit a line of the text report";
    }
  }
}

TEST(Issues, EachIsFoundBySomeReader) {
  std::string code;
  for (const char* folder : {"trace/model", "trace/read"}) {
    for (const auto& file :
         fs::directory_iterator(fs::path(redline::testing::source_dir()) / folder)) {
      const std::string name = file.path().filename().string();
      if (name.starts_with("issues") || name.ends_with("_test.cc")) continue;
      code += read_file(file.path());
    }
  }
  for (const IssueInfo& info : issue_table()) {
    const std::regex use("Issue::" + enumerator_of(info.name) + "\\b");
    EXPECT_TRUE(std::regex_search(code, use)) << info.name;
  }
}

TEST(Issues, TheDocumentationNamesEach) {
  const std::string page = read_file(redline::testing::source_dir() + "/docs/formats.md");
  const std::regex row("\n\\| `([a-z0-9_]+)` \\|");
  std::set<std::string> documented, names;
  for (std::sregex_iterator at(page.begin(), page.end(), row), end; at != end; ++at) {
    documented.insert((*at)[1]);
  }
  for (const IssueInfo& info : issue_table()) names.emplace(info.name);
  EXPECT_EQ(documented, names);
}

}  // namespace
}  // namespace redline::trace
