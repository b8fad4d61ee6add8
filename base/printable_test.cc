#include "base/printable.h"

#include <gtest/gtest.h>

namespace redline {
namespace {

TEST(Printable, WhatCanBeSeenStays) {
  for (const char* text : {"", "aten::mm", "ä€𝄞", "矩阵", "|pipe| `tick` <b> \"quote\\", "a b~"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, WhatATerminalObeysDoesNot) {
  EXPECT_EQ(printable("\x1b[31mred\x1b[0m", "?"), "?[31mred?[0m");
  EXPECT_EQ(printable("\u009b31m", "?"), "?31m") << "the same in one character";
  EXPECT_EQ(printable(std::string_view("a\0b\n\r\t\x7f", 7), "?"), "a?b????");
}

TEST(Printable, WhatTurnsTextAroundDoesNot) {
  EXPECT_EQ(printable("\u202eevil\u202c \u2066x\u2069 \u200e\u200f\u061c", "?"), "?evil? ?x? ???");
  EXPECT_EQ(printable("\u200b\u2028\u2029\u2060\ufeff\u00ad", "."), "......");
}

// The characters beside those that go: a limit that is off by one hides a letter.
TEST(Printable, TheNeighboursStay) {
  for (const char* text : {" ~", "\u00a0", "\u200a", "\u2010", "\u2027", "\u202f", "\u205f",
                           "\u2070", "\ufefe", "\ufff8", "\ufffd"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, BrokenTextIsMarkedByteByByte) {
  EXPECT_EQ(printable("a\xff"), "a\ufffd");
  EXPECT_EQ(printable("\xc3", "?"), "?") << "cut off";
  EXPECT_EQ(printable("\xe2\x82 x", "?"), "?? x");
  EXPECT_EQ(printable("\xc0\xaf", "?"), "??") << "longer than it need be";
  EXPECT_EQ(printable("\xe0\x9f\xbf", "?"), "???");
  EXPECT_EQ(printable("\xed\xa0\x80", "?"), "???") << "half of a pair";
  EXPECT_EQ(printable("\xf4\x90\x80\x80", "?"), "????") << "beyond the last character";
}

}  // namespace
}  // namespace redline
