#include "base/byte_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace redline {
namespace {

TEST(ByteWriter, GivesAllThatIsPutInOrderAndInPieces) {
  std::vector<std::string> pieces;
  const ByteSink sink = [&](std::string_view bytes) {
    pieces.emplace_back(bytes);
    return true;
  };
  ByteWriter out(sink);
  for (uint64_t number = 0; number < 30'000; ++number) out.put(number);
  const std::string large(200'000, 'x');
  out.put_text(large);
  out.put_text("end");
  EXPECT_TRUE(out.finish());
  EXPECT_TRUE(std::ranges::none_of(pieces, &std::string::empty));
  EXPECT_TRUE(std::ranges::all_of(
      pieces, [&](const std::string& piece) { return piece.size() <= large.size(); }));

  std::string whole;
  for (const std::string& piece : pieces) whole += piece;
  ByteReader in(whole);
  for (uint64_t number = 0; number < 30'000; ++number) ASSERT_EQ(in.take<uint64_t>(), number);
  EXPECT_EQ(in.take_text(), large);
  EXPECT_EQ(in.take_text(), "end");
  EXPECT_TRUE(in.at_end());
}

TEST(ByteWriter, AsksASinkThatCannotTakeMoreNoMore) {
  int asked = 0;
  const ByteSink full = [&](std::string_view) { return ++asked < 2; };
  ByteWriter out(full);
  for (int time = 0; time < 5; ++time) out.put_text(std::string(100'000, 'x'));
  EXPECT_FALSE(out.finish());
  EXPECT_EQ(asked, 2);
}

}  // namespace
}  // namespace redline
