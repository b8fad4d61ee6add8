#include "base/terminal.h"

#include <gtest/gtest.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

namespace redline {
namespace {

TEST(StyleOf, TheFirstVariableThatIsNotEmptyNamesTheLocale) {
  const auto is_utf8 = [](const char* all, const char* characters, const char* language) {
    setenv("LC_ALL", all, 1);
    setenv("LC_CTYPE", characters, 1);
    setenv("LANG", language, 1);
    return style_of(STDOUT_FILENO).utf8;
  };
  EXPECT_TRUE(is_utf8("en_US.UTF8", "C", "C"));
  EXPECT_TRUE(is_utf8("", "C.utf8", "C"));
  EXPECT_TRUE(is_utf8("", "", "de_DE.Utf-8"));
  EXPECT_FALSE(is_utf8("C", "C.UTF-8", "C.UTF-8"));
  EXPECT_FALSE(is_utf8("", "", ""));
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) unsetenv(name);
}

TEST(StyleOf, ADumbTerminalGetsNoColours) {
  int ours = -1, theirs = -1;
  ASSERT_EQ(openpty(&ours, &theirs, nullptr, nullptr, nullptr), 0);
  setenv("TERM", "xterm", 1);
  unsetenv("NO_COLOR");
  EXPECT_TRUE(is_screen(theirs));
  EXPECT_TRUE(style_of(theirs).colour);
  setenv("TERM", "dumb", 1);
  EXPECT_FALSE(is_screen(theirs));
  EXPECT_FALSE(style_of(theirs).colour);
  unsetenv("TERM");
  EXPECT_FALSE(is_screen(theirs));
  close(ours);
  close(theirs);
}

TEST(ScreenSize, IsThatOfTheTerminalOrTheUsualOne) {
  int ours = -1, theirs = -1;
  winsize size = {.ws_row = 10, .ws_col = 40, .ws_xpixel = 0, .ws_ypixel = 0};
  ASSERT_EQ(openpty(&ours, &theirs, nullptr, nullptr, &size), 0);
  EXPECT_EQ(screen_size(theirs).rows, 10U);
  EXPECT_EQ(screen_size(theirs).columns, 40U);
  size = {};
  ASSERT_EQ(ioctl(ours, TIOCSWINSZ, &size), 0);
  EXPECT_EQ(screen_size(theirs).columns, 80U) << "a serial line does not know it";
  close(ours);
  close(theirs);
  EXPECT_EQ(screen_size(-1).rows, 24U);
  EXPECT_EQ(screen_size(-1).columns, 80U);
}

TEST(CutPainted, EscapesTakeNoColumnAndStay) {
  const std::string line = "\x1b[1mGPU\x1b[0m \x1b[38;5;35m███\x1b[0m 64 °C";
  EXPECT_EQ(cut_painted(line, 5), "\x1b[1mGPU\x1b[0m \x1b[38;5;35m█\x1b[0m");
  EXPECT_EQ(cut_painted(line, 12), "\x1b[1mGPU\x1b[0m \x1b[38;5;35m███\x1b[0m 64 °");
  EXPECT_EQ(cut_painted(line, 13), line);
  EXPECT_EQ(cut_painted("memory", 0), "");
}

TEST(TextStyle, SymbolsHaveTheirAscii) {
  const TextStyle ascii{.colour = false, .utf8 = false};
  EXPECT_EQ(ascii.shown("✓ 3 ± 1 · 64 °C … ü"), "+ 3 +- 1 | 64 C ... ?");
  EXPECT_EQ(TextStyle{}.shown("✓ 3 ± 1"), "✓ 3 ± 1");
}

TEST(TextStyle, CellsHaveTheirWidth) {
  const TextStyle ascii{.colour = false, .utf8 = false};
  EXPECT_EQ(TextStyle{}.right("± 3", 5), "  ± 3");
  EXPECT_EQ(ascii.right("± 3", 5), " +- 3");
  EXPECT_EQ(TextStyle{}.left("out of memory", 6), "out o…");
  EXPECT_EQ(ascii.left("out of memory", 6), "out...");
  EXPECT_EQ(ascii.left("on", 4), "on  ");
}

TEST(TextStyle, OnlyWhatIsThereIsPainted) {
  const TextStyle colour{.colour = true, .utf8 = false};
  EXPECT_EQ(colour.painted("→", Hue::kBold), "\x1b[1m->\x1b[0m");
  EXPECT_EQ(colour.painted("", Hue::kBold), "");
  EXPECT_EQ(colour.painted("a", Hue::kNone), "a");
  EXPECT_EQ(TextStyle{}.painted("a", Hue::kBold), "a");
}

TEST(Elide, CutsAtColumnsAndHidesControlCharacters) {
  EXPECT_EQ(elide("a\nb\x7f", 4), "a?b?");
  EXPECT_EQ(elide("ääää", 3), "ää…");
  EXPECT_EQ(columns(elide("\xff\xfe\x80 broken", 5)), 5U);
}

TEST(Elide, CutsTheMiddleByColumnsNotBytes) {
  EXPECT_EQ(elide_middle("0123456789", 10), "0123456789");
  EXPECT_EQ(elide_middle("0123456789", 7), "0123…89");
  EXPECT_EQ(elide_middle("ääääääääää", 7), "ääää…ää");
  EXPECT_EQ(elide_middle("a\nb", 10), "a?b");
  EXPECT_EQ(columns(elide_middle("\xff\xfe\x80\x80\x80 broken text here", 8)), 8U);
}

TEST(Wrapped, LinesAreAsLongAsTheyMayBe) {
  EXPECT_EQ(joined(wrapped("one two three", 7), "\n"), "one two\nthree");
  EXPECT_EQ(joined(wrapped("a_word_too_long b", 4), "\n"), "a_word_too_long\nb");
  EXPECT_EQ(joined(wrapped({"± 1", "± 2", "3"}, " · ", 9), "\n"), "± 1 · ± 2\n3");
  EXPECT_EQ(joined(wrapped("", 7), "\n"), "");
}

}  // namespace
}  // namespace redline
