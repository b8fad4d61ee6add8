#include "trace/model/correlation_table.h"

#include <gtest/gtest.h>

namespace redline::trace {
namespace {

std::vector<uint32_t> works_of(const CorrelationTable& table, uint64_t correlation) {
  std::vector<uint32_t> works;
  if (const auto* const entry = table.find(correlation); entry != nullptr) {
    table.for_each_work(*entry, [&](SliceId slice) { works.push_back(slice.value); });
  }
  return works;
}

TEST(CorrelationTableTest, FindsAllWorkOfANumber) {
  const std::vector<uint32_t> correlation = {7, 9, 7, 0, 7, 4'000'000'000};
  const std::vector<SliceId> works = {{0}, {1}, {2}, {4}, {5}};
  const CorrelationTable table(works, correlation);
  EXPECT_EQ(works_of(table, 7), (std::vector<uint32_t>{0, 2, 4}));
  EXPECT_EQ(works_of(table, 9), (std::vector<uint32_t>{1}));
  EXPECT_EQ(works_of(table, 4'000'000'000), (std::vector<uint32_t>{5}));
  EXPECT_EQ(works_of(table, 8), (std::vector<uint32_t>{}));
  EXPECT_EQ(table.find(0), nullptr);
  EXPECT_EQ(table.find((uint64_t{1} << 32) + 7), nullptr);
}

TEST(CorrelationTableTest, IsEmptyWithoutWork) {
  EXPECT_EQ(CorrelationTable({}, {}).find(1), nullptr);
}

TEST(CorrelationTableTest, HoldsNumbersATableSizeApart) {
  for (const uint32_t stride : {1U, 1U << 12, 1U << 20}) {
    std::vector<uint32_t> correlation;
    std::vector<SliceId> works;
    for (uint32_t i = 0; i < 2000; ++i) {
      works.push_back(SliceId{i});
      correlation.push_back(1 + i * stride);
    }
    const CorrelationTable table(works, correlation);
    for (uint32_t i = 0; i < 2000; ++i) {
      ASSERT_EQ(works_of(table, correlation[i]), std::vector<uint32_t>{i}) << stride;
    }
  }
}

}  // namespace
}  // namespace redline::trace
