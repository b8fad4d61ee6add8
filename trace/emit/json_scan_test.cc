#include "trace/emit/json_scan.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>

namespace redline::trace {
namespace {

/// `code` encoded as `length` bytes of UTF-8, well-formed or not.
std::string encoded(uint32_t code, size_t length) {
  if (length == 1) return {static_cast<char>(code)};
  constexpr uint32_t kLead[] = {0, 0, 0xC0, 0xE0, 0xF0};
  std::string text(length, '\0');
  for (size_t at = length - 1; at > 0; --at, code >>= 6) {
    text[at] = static_cast<char>(0x80 | (code & 0x3F));
  }
  text[0] = static_cast<char>(kLead[length] | code);
  return text;
}

size_t shortest_length(uint32_t code) {
  return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}

TEST(Utf8Length, TakesEachCodePointInItsShortestFormOnly) {
  for (uint32_t code = 0; code <= 0x1FFFFF; ++code) {
    const bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;
    const size_t shortest = shortest_length(code);
    for (size_t length = shortest; length <= 4; ++length) {
      const bool is_valid = length == shortest && !is_surrogate && code <= 0x10FFFF;
      ASSERT_EQ(utf8_length(encoded(code, length)), is_valid ? length : 0) << code << " " << length;
    }
  }
}

TEST(Utf8Length, NeedsAllItsBytes) {
  for (const uint32_t code : {0x80U, 0x7FFU, 0x800U, 0xFFFFU, 0x10000U, 0x10FFFFU}) {
    const std::string whole = encoded(code, shortest_length(code));
    EXPECT_EQ(utf8_length(whole + "x"), whole.size());
    for (size_t size = 1; size < whole.size(); ++size) {
      EXPECT_EQ(utf8_length(whole.substr(0, size)), 0U);
      EXPECT_EQ(utf8_length(whole.substr(0, size) + "x" + whole.substr(size)), 0U);
    }
  }
}

TEST(ParseScaled, EachNumberIsExactOrNone) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  struct {
    std::string_view number;
    int power;
    std::optional<int64_t> expected;
  } const rows[] = {
      {"0", 3, 0},
      {"12.3456", 3, 12'346},
      {"12.3454", 3, 12'345},
      {"0.5", 0, 1},  // half away from zero
      {"-0.5", 0, -1},
      {"0.49", 0, 0},
      {"1.4999", 0, 1},
      {"10.06", 1, 101},
      {"+7", 0, 7},
      {"-7", 2, -700},
      {"5.", 0, 5},
      {".5", 1, 5},
      {"1e3", 0, 1000},
      {"1E+3", 0, 1000},
      {"25e-1", 0, 3},
      {"1e10", 1, 100'000'000'000},
      {"90", -1, 9},
      {"9223372036854775807", 0, kMost},
      {"9223372036854775808", 0, std::nullopt},
      {"9223372036854775807.4", 0, kMost},
      {"9223372036854775807.5", 0, std::nullopt},
      {"-9223372036854775807", 0, -kMost},
      {"-9223372036854775808", 0, std::nullopt},
      {"922337203685477580.7", 1, kMost},
      {"922337203685477580.8", 1, std::nullopt},
      {"1", 18, 1'000'000'000'000'000'000},
      {"1", 19, std::nullopt},
      {"1e999999", 0, std::nullopt},
      {"0e999999", 0, 0},
      {"1e-999999", 3, 0},
      {"1e99999999999999999999", 0, std::nullopt},
      {"1234567890123456789012345678901234567890e-30", 0, 1'234'567'890},
      {"123456789012345678.9012345678901234567890123", 1, 1'234'567'890'123'456'789},
      {"0.00000000000000000000000000000000000001e38", 0, 1},
      {"100000000000000000000000000000000000000e-38", 0, 1},
      {"123456789", -7, 12},
      {"", 0, std::nullopt},
      {"-", 0, std::nullopt},
      {".", 0, std::nullopt},
      {"e5", 0, std::nullopt},
      {"1.2.3", 0, std::nullopt},
      {"1e", 0, std::nullopt},
      {"1e+", 0, std::nullopt},
      {"1e5x", 0, std::nullopt},
      {"1e5/", 0, std::nullopt},
      {"1e5:", 0, std::nullopt},
      {"12a", 0, std::nullopt},
      {"1/", 0, std::nullopt},
      {"1:", 0, std::nullopt},
      {"/1", 0, std::nullopt},
      {"--1", 0, std::nullopt},
      {"nan", 0, std::nullopt},
      {"inf", 0, std::nullopt},
  };
  for (const auto& [number, power, expected] : rows) {
    EXPECT_EQ(parse_scaled(number, power), expected) << number << " * 10^" << power;
  }
}

TEST(ParseScaled, AnyNanosecondsComeBackFromMicroseconds) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 2000; ++round) {
    const auto ns = static_cast<int64_t>(random() >> (1 + random() % 63));
    std::string digits = std::to_string(ns);
    digits.insert(0, digits.size() < 4 ? 4 - digits.size() : 0, '0');
    digits.insert(digits.size() - 3, ".");
    EXPECT_EQ(parse_scaled(digits, 3), ns) << digits;
    EXPECT_EQ(parse_scaled("-" + digits + "e2", 1), -ns) << digits;
  }
}

TEST(DecodeString, ResolvesEscapesAndSaysWhatItRepaired) {
  const std::string bad(kReplacementCharacter);
  struct {
    std::string_view content;
    std::string expected;
    bool repaired;
  } const rows[] = {
      {"", "", false},
      {"aten::mm é漢😀\x7f", "aten::mm é漢😀\x7f", false},
      {R"(\b\f\n\r\t\"\\\/\q)", "\b\f\n\r\t\"\\/q", false},
      {R"(\u0000\u0041\u007f)", std::string("\0A\x7f", 3), false},
      {R"(\u0080\u07ff\u0800\uFFFF)",
       encoded(0x80, 2) + encoded(0x7FF, 2) + encoded(0x800, 3) + encoded(0xFFFF, 3), false},
      {R"(\u1a2B\u9f0E)", encoded(0x1A2B, 3) + encoded(0x9F0E, 3), false},
      {R"(\ud800\udc00\udbff\udfff)", encoded(0x10000, 4) + encoded(0x10FFFF, 4), false},
      {R"(\uD83D\uDE00!)", "😀!", false},
      {R"(\ud7ff\ue000)", encoded(0xD7FF, 3) + encoded(0xE000, 3), false},
      {R"(\ud800)", bad, true},
      {R"(\udc00\ud800)", bad + bad, true},
      {R"(\udfffx)", bad + "x", true},
      {R"(\ud800\u0041)", bad + "A", true},
      {R"(\ud800\udbff)", bad + bad, true},
      {R"(\ud800\ue000)", bad + encoded(0xE000, 3), true},
      {R"(\ud800xudc00)", bad + "xudc00", true},
      {R"(\ud800\n)", bad + "\n", true},
      {R"(\ud800\udc0)", bad + bad + "dc0", true},
      {R"(\u12)", bad + "12", true},
      {R"(\u123)", bad + "123", true},
      {R"(\u)", bad, true},
      {"\\", "", false},
      {"\\é", "é", false},
      {"\xff", bad, true},
      {"a\x80z", "a" + bad + "z", true},
      {"\xe6\xbc", bad + bad, true},
  };
  for (const auto& [content, expected, was_repaired] : rows) {
    bool repaired = false;
    EXPECT_EQ(decode_string(content, &repaired), expected) << content;
    EXPECT_EQ(repaired, was_repaired) << content;
    EXPECT_EQ(decode_string(content), expected);
  }
  for (const char c : {'/', ':', '@', 'G', '`', 'g'}) {
    const std::string digits = std::string("00") + c + "0";
    EXPECT_EQ(decode_string("\\u" + digits), bad + digits) << c;
  }
  bool repaired = true;  // stays
  EXPECT_EQ(decode_string("sound", &repaired), "sound");
  EXPECT_TRUE(repaired);
}

TEST(SkipValue, FindsTheEndOfEachKindOfValue) {
  const std::pair<std::string_view, size_t> rows[] = {
      {"", kTextEnds},
      {"1,", 1},
      {"-1.5e3", 6},
      {"true]", 4},
      {"null}", 4},
      {"7 ", 1},
      {"7\n", 1},
      {"7\r", 1},
      {"7\t", 1},
      {"7:", 1},
      {"7{", 1},
      {"7[", 1},
      {"7\"", 1},
      {",", 0},
      {R"("a",)", 3},
      {R"("")", 2},
      {R"("a\"b" )", 6},
      {R"("a\\",)", 5},
      {R"("a)", kTextEnds},
      {R"("a\)", kTextEnds},
      {R"("a\")", kTextEnds},
      {"{}", 2},
      {"[]x", 2},
      {R"({"a": [1, {"b": "]}"}]}, 5)", 23},
      {R"(["\"]", 1] 2)", 10},
      {"[1", kTextEnds},
      {R"([")", kTextEnds},
      {R"({"a": "})", kTextEnds},
      {"[[]", kTextEnds},
      {"[", kTextEnds},
      {R"(["a")", kTextEnds},
  };
  for (const auto& [text, end] : rows) {
    EXPECT_EQ(skip_value(text, 0), end) << text;
    if (text.empty()) continue;
    const std::string later = "0]" + std::string(text);
    EXPECT_EQ(skip_value(later, 2), end == kTextEnds ? end : end + 2) << later;
  }
  EXPECT_EQ(skip_value("1", 1), kTextEnds);
  EXPECT_EQ(skip_space(" \t\r\n x", 0), 5U);
  EXPECT_EQ(skip_space("x ", 0), 0U);
  EXPECT_EQ(skip_space("  ", 1), 2U);
  EXPECT_EQ(skip_space("  ", 5), 5U);
}

TEST(Unquote, TakesAPairOfQuotesAway) {
  const std::pair<std::string_view, std::string_view> rows[] = {
      {R"("a")", "a"}, {R"("")", ""},      {"\"", "\""},      {"", ""},
      {"1", "1"},      {R"("a)", R"("a)"}, {R"(a")", R"(a")"}};
  for (const auto& [token, plain] : rows) EXPECT_EQ(unquote(token), plain) << token;
}

std::string members_of(std::string_view object, size_t most = 10) {
  std::string members;
  for_each_member(object, [&](std::string_view key, std::string_view value) {
    members += std::string(key) + "=" + std::string(value) + ";";
    return --most > 0;
  });
  return members;
}

TEST(ForEachMember, StopsWhereTheObjectIsNotSound) {
  const std::pair<std::string_view, const char*> rows[] = {
      {"{}", ""},
      {"", ""},
      {" ", ""},
      {"{", ""},
      {"[1]", ""},
      {R"(["a": 1])", ""},
      {R"( {"a": 1, "b" : {"c": [2]} ,"d":"x"} )", R"(a=1;b={"c": [2]};d="x";)"},
      {R"({"": 1,, "b":2})", "=1;b=2;"},
      {R"({"a\"": 1})", R"(a\"=1;)"},
      {R"({"a": 1 "b": 2})", "a=1;b=2;"},
      {R"({"a": 1, b: 2, "c": 3})", "a=1;"},
      {R"({"a": 1, "b")", "a=1;"},
      {R"({"a": 1, "b)", "a=1;"},
      {R"({"a": 1, "b" 2})", "a=1;"},
      {R"({"a": 1, "b":)", "a=1;"},
      {R"({"a": 1, "b":})", "a=1;"},
      {R"({"a": 1, "b": [2)", "a=1;"},
      {R"({"a": 1, )", "a=1;"},
      {R"({"a": 1,)", "a=1;"},
      {R"({"a": 12)", "a=12;"},
  };
  for (const auto& [object, members] : rows) EXPECT_EQ(members_of(object), members) << object;
  EXPECT_EQ(members_of(R"({"a": 1, "b": 2, "c": 3})", 2), "a=1;b=2;");
}

TEST(FindValue, IsTheFirstOfThatKeyAndNoNestedOne) {
  constexpr std::string_view kObject = R"({"n": {"a": 1}, "a": 2, "a": 3, "b": "x"})";
  EXPECT_EQ(find_value(kObject, "a"), "2");
  EXPECT_EQ(find_value(kObject, "b"), "\"x\"");
  EXPECT_EQ(find_value(kObject, "c"), "");
}

}  // namespace
}  // namespace redline::trace
