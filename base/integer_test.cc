#include "base/integer.h"

#include <gtest/gtest.h>

namespace redline {
namespace {

TEST(Integers, AreTheWholeTextOrWhatItBeginsWith) {
  EXPECT_EQ(parse_integer("-12"), -12);
  EXPECT_EQ(leading_integer("-12"), -12);
  EXPECT_EQ(parse_integer("12 kB"), std::nullopt);
  EXPECT_EQ(leading_integer("12 kB"), 12);
  for (const char* none : {"", "kB 12", " 12", "-", "9223372036854775808"}) {
    EXPECT_EQ(parse_integer(none), std::nullopt) << none;
    EXPECT_EQ(leading_integer(none), std::nullopt) << none;
  }
  EXPECT_EQ(leading_integer<uint32_t>("-1"), std::nullopt);
}

}  // namespace
}  // namespace redline
