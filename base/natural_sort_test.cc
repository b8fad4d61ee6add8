#include "base/natural_sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <span>
#include <utility>

namespace redline {
namespace {

using Item = std::pair<int, int>;  // the compared value, and its place before sorting

void expect_stably_sorted(std::vector<Item> items) {
  const auto less = [](const Item& left, const Item& right) { return left.first < right.first; };
  std::vector<Item> expected = items;
  std::stable_sort(expected.begin(), expected.end(), less);
  natural_sort(std::span(items), less);
  EXPECT_EQ(items, expected);
}

TEST(NaturalSort, NothingAndOne) {
  expect_stably_sorted({});
  expect_stably_sorted({{3, 0}});
}

TEST(NaturalSort, AnyNumberOfRunsOfAnyLength) {
  std::mt19937 random(7);
  for (int runs = 1; runs <= 17; ++runs) {
    std::vector<Item> items;
    for (int run = 0; run < runs; ++run) {
      int value = static_cast<int>(random() % 50);
      for (auto length = random() % 20; length > 0; --length) {
        items.emplace_back(value, static_cast<int>(items.size()));
        value += static_cast<int>(random() % 4);  // equal neighbours, too
      }
    }
    expect_stably_sorted(items);
  }
}

TEST(NaturalSort, ReversedIsTheWorstCaseAndStillRight) {
  std::vector<Item> items;
  for (int i = 100; i > 0; --i) items.emplace_back(i / 2, i);
  expect_stably_sorted(items);
}

}  // namespace
}  // namespace redline
