#include "trace/read/links.h"

#include <gtest/gtest.h>

#include <string>

namespace redline::trace {
namespace {

// In a text "B1a" is a begin at time 1 with the name a; without a letter it has no name.
std::string pair(const std::vector<std::string>& texts) {
  std::vector<EdgeRow> edges;
  for (const std::string& text : texts) {
    EdgeRow edge;
    edge.is_begin = text[0] == 'B';
    edge.time_ns = text[1] - '0';
    if (text.size() > 2) edge.name = StringId{static_cast<uint32_t>(text[2])};
    edges.push_back(edge);
  }
  const EdgePairs paired = pair_sorted_edges(edges);
  std::string out;
  for (const auto& [begin, end] : paired.pairs) out += texts[begin] + "-" + texts[end] + " ";
  for (const uint32_t begin : paired.open_begins) out += "open:" + texts[begin] + " ";
  for (const uint32_t end : paired.stray_ends) out += "stray:" + texts[end] + " ";
  return out;
}

TEST(EdgePairs, ClosesTheInnermostOfItsName) {
  EXPECT_EQ(pair({"B1a", "B2a", "E3a", "E4a"}), "B2a-E3a B1a-E4a ");
  EXPECT_EQ(pair({"B1a", "B2b", "E3a", "E4b"}), "B1a-E3a B2b-E4b ");
  EXPECT_EQ(pair({"B1a", "B2", "E3a", "E4"}), "B2-E3a B1a-E4 ");
  EXPECT_EQ(pair({"B1a", "E2b", "E3"}), "B1a-E3 stray:E2b ");
  EXPECT_EQ(pair({"B1a", "B2b", "E3b"}), "B2b-E3b open:B1a ");
}

TEST(EdgePairs, TakesAnEndJustBeforeItsBeginForNoDuration) {
  EXPECT_EQ(pair({"B1a", "E2c", "B2c", "E3a"}), "B2c-E2c B1a-E3a ");
  EXPECT_EQ(pair({"E2c", "B3c"}), "open:B3c stray:E2c ");
}

// Searching the open begins one by one would take 10^11 steps here.
TEST(EdgePairs, IsLinearWhateverIsOpen) {
  constexpr uint32_t kCount = 400'000;
  std::vector<EdgeRow> edges(2 * kCount);
  for (uint32_t i = 0; i < kCount; ++i) {
    edges[i].is_begin = true;
    edges[i].name = StringId{i};
    edges[kCount + i].name = StringId{i};
    edges[kCount + i].time_ns = 1;
  }
  EXPECT_EQ(pair_sorted_edges(edges).pairs.size(), kCount);
}

}  // namespace
}  // namespace redline::trace
