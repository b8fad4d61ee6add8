#include "profiler/text_table.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace redline::profiler {
namespace {

constexpr uint64_t kPlenty = 1 << 20;

TEST(TextTable, TellsTextsByContentAndForm) {
  TextTable table;
  table.reset(kPlenty);
  TextCache cache;
  std::string reused = "aten::add";
  const TextId add = cache.intern(table, reused, TextForm::kName);
  reused.replace(6, 3, "mul");  // the same address, as a dying RecordFunction's name has
  const TextId mul = cache.intern(table, reused, TextForm::kName);
  const TextId json = cache.intern(table, "aten::add", TextForm::kJson);
  EXPECT_NE(add.value, mul.value);
  EXPECT_NE(add.value, json.value);
  EXPECT_EQ(cache.intern(table, "aten::add", TextForm::kName).value, add.value);

  std::vector<std::string_view> known;
  table.update(known);
  EXPECT_EQ(known[add.value], "\"aten::add\"");
  EXPECT_EQ(known[mul.value], "\"aten::mul\"");
  EXPECT_EQ(known[json.value], "aten::add");
}

TEST(TextTable, RefusesWhatExceedsItsLimitAndCountsIt) {
  TextTable table;
  table.reset(1000);
  TextCache cache;
  int kept = 0;
  for (int i = 0; i < 100; ++i) {
    kept += cache.intern(table, "name " + std::to_string(i), TextForm::kName) ? 1 : 0;
  }
  EXPECT_GT(kept, 0);
  EXPECT_EQ(table.refused(), static_cast<uint64_t>(100 - kept));
  EXPECT_TRUE(cache.intern(table, "name 0", TextForm::kName));
}

TEST(TextTable, ForgetsAtReset) {
  TextTable table;
  TextCache cache;
  for (int window = 0; window < 3; ++window) {
    table.reset(kPlenty);
    const std::string other = "window " + std::to_string(window);
    EXPECT_EQ(cache.intern(table, other, TextForm::kName).value, 0u);
    EXPECT_EQ(cache.intern(table, "same", TextForm::kName).value, 1u);
  }
}

TEST(TextTable, GivesAllThreadsTheSameIds) {
  TextTable table;
  table.reset(kPlenty);
  constexpr int kTexts = 3000;  // more than a cache holds
  std::vector<std::vector<uint32_t>> ids(4);
  {
    std::vector<std::jthread> threads;
    for (auto& mine : ids) {
      threads.emplace_back([&table, &mine] {
        TextCache cache;
        for (int i = 0; i < kTexts; ++i) {
          mine.push_back(cache.intern(table, std::to_string(i), TextForm::kName).value);
        }
      });
    }
  }
  for (const auto& other : ids) EXPECT_EQ(other, ids[0]);
  std::vector<std::string_view> known;
  table.update(known);
  ASSERT_EQ(known.size(), static_cast<size_t>(kTexts));
  for (int i = 0; i < kTexts; ++i) {
    EXPECT_EQ(known[ids[0][static_cast<size_t>(i)]], '"' + std::to_string(i) + '"');
  }
}

}  // namespace
}  // namespace redline::profiler
