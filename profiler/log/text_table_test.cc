#include "profiler/log/text_table.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

namespace redline::profiler {
namespace {

constexpr uint64_t kPlenty = 1 << 20;

TEST(HashText, TellsEveryByteOfATextOfAnyLength) {
  std::set<uint64_t> hashes;
  size_t texts = 0;
  for (size_t size = 0; size <= 40; ++size) {
    const std::string same(size, 'a');
    hashes.insert(hash_text(same, TextForm::kName));
    ++texts;
    for (size_t at = 0; at < size; ++at) {
      std::string other = same;
      for (const char c : {'b', '\0', '\xFF'}) {
        other[at] = c;
        hashes.insert(hash_text(other, TextForm::kName));
        ++texts;
      }
    }
  }
  EXPECT_EQ(hashes.size(), texts);
}

TEST(TextTable, TellsTextsByContentAndForm) {
  TextTable table;
  table.reset(kPlenty);
  TextCache cache;
  std::string reused = "aten::add";
  const TextId add = cache.intern(table, reused, TextForm::kName);
  reused.replace(6, 3, "mul");  // at the same address, where a freed name may have been
  const TextId mul = cache.intern(table, reused, TextForm::kName);
  const TextId json = cache.intern(table, "aten::add", TextForm::kJson);
  EXPECT_NE(add.value, mul.value);
  EXPECT_NE(add.value, json.value);
  EXPECT_EQ(cache.intern(table, "aten::add", TextForm::kName).value, add.value);

  TextReader reader(table);
  EXPECT_EQ(reader.text(add), "\"aten::add\"");
  EXPECT_EQ(reader.text(mul), "\"aten::mul\"");
  EXPECT_EQ(reader.text(json), "aten::add");
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
  TextReader reader(table);
  TextId before;
  for (int window = 0; window < 3; ++window) {
    table.reset(kPlenty);
    const TextId own = cache.intern(table, std::to_string(window), TextForm::kName);
    EXPECT_EQ(reader.text(own), '"' + std::to_string(window) + '"');
    EXPECT_EQ(reader.text(before), "\"(name not kept)\"");
    before = own;
  }
  EXPECT_EQ(reader.lost(), 2u);
}

TEST(TextTable, TakesTextsWithoutEndOnceOldOnesAreReleased) {
  TextTable table;
  table.reset(20'000);
  TextCache cache;
  TextReader reader(table);
  for (int i = 0; i < 10'000; ++i) {
    const std::string name = "collective " + std::to_string(i);
    const TextId id = cache.intern(table, name, TextForm::kName);
    ASSERT_TRUE(id) << i;
    ASSERT_EQ(reader.text(id), '"' + name + '"');
    table.release_before(table.generation());
  }
  EXPECT_EQ(table.refused(), 0u);
  EXPECT_GT(table.generation(), 100u);
}

TEST(TextTable, KeepsTheGenerationBeforeUntilItIsReleased) {
  TextTable table;
  table.reset(2000);
  TextCache cache;
  const uint32_t first_generation = table.generation();
  const TextId first = cache.intern(table, "first", TextForm::kName);
  for (int i = 0; table.refused() == 0; ++i) {
    static_cast<void>(cache.intern(table, std::to_string(i), TextForm::kName));
  }
  EXPECT_EQ(table.generation(), first_generation + 1);
  TextReader reader(table);
  EXPECT_EQ(reader.text(first), "\"first\"");
  table.release_before(table.generation());
  EXPECT_EQ(reader.text(first), "\"(name not kept)\"");
  const TextId next = cache.intern(table, "next", TextForm::kName);
  EXPECT_EQ(reader.text(next), "\"next\"");
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
  TextReader reader(table);
  for (int i = 0; i < kTexts; ++i) {
    EXPECT_EQ(reader.text({ids[0][static_cast<size_t>(i)]}), '"' + std::to_string(i) + '"');
  }
}

}  // namespace
}  // namespace redline::profiler
