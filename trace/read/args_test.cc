#include "trace/read/args.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

namespace redline::trace {
namespace {

using Values = std::array<std::string_view, 2>;

Values find_a_and_b(std::string_view text) {
  constexpr std::array<std::string_view, 2> kKeys = {"a", "b"};
  Values values{"old", "old"};
  find_args(text, kKeys, values);
  return values;
}

// Text that goes on behind an event; the block with the event's end includes some of it.
std::string going_on(std::string_view text) { return std::string(text) + std::string(200, ' '); }

TEST(ArgsScan, FindsValuesWhereverTheyStand) {
  const struct {
    std::string_view text;
    Values expected;
  } kCases[] = {
      {R"({"ph": "X", "args": {"a": 1, "b": 2.5}})", {"1", "2.5"}},
      {R"({"args":{"b":"x","c":[1,{"a":7}],"a":true},"ts":1}, {"args": {"a": 9}})",
       {"true", R"("x")"}},
      {"{\n \"name\" : \"n\" ,\n \"args\" :\t{ \"b\" : [ 1, \"]\" ] } }", {"", "[ 1, \"]\" ]"}},
      {R"({"name": "\"args\": {\"a\": 3}\\", "args": {"b": "\\\""}})", {"", R"("\\\"")"}},
      {R"({"name": "args", "cat": "a", "args": {"a": 1, "a": 2}})", {"1", ""}},
      {R"({"other": {"args": {"a": 1}}, "args": {"b": null}})", {"", "null"}},
      {R"({"ts": 1})", {"", ""}},
      {R"({"args": 5})", {"", ""}},
      {R"([{"args": {"a": 5}}])", {"", ""}},
      {"", {"", ""}},
  };
  for (const auto& each : kCases) {
    EXPECT_EQ(find_a_and_b(each.text), each.expected) << each.text;
    EXPECT_EQ(find_a_and_b(going_on(each.text)), each.expected) << each.text;
  }
}

TEST(ArgsScan, OfATornEventIsWhatStandsWhole) {
  for (const std::string text :
       {R"({"name": "a \"kernel\"", "args": {"x": [1, {"y": "]"}], "a": 12, "b": "s"}})",
        R"({"name": "flat", "args": {"x": 1, "b": "s", "a": 12}})"}) {
    const size_t a_ends = text.find("12") + 2, b_ends = text.find("\"s\"") + 3;
    for (size_t length = 0; length <= text.size(); ++length) {
      const Values values = find_a_and_b(std::string_view(text).substr(0, length));
      EXPECT_EQ(values[0], length > a_ends ? "12" : "") << text << length;
      EXPECT_EQ(values[1], length > b_ends ? "\"s\"" : "") << text << length;
    }
  }
}

TEST(ArgsScan, AgreesWithArgsOnAnEventOfKineto) {
  const std::string text =
      R"x({"ph": "X", "cat": "kernel", "name": "void k<4, float>(int, char*)", "pid": 0, "tid": 7,
          "ts": 1682725898082228, "dur": 10.0, "args": {"External id": 6935929, "queued": 0,
          "grid": [2400, 1, 1], "blocks per SM": 22.222221, "est. achieved occupancy %": 100}})x";
  constexpr std::array<std::string_view, 3> kKeys = {"est. achieved occupancy %", "blocks per SM",
                                                     "grid"};
  std::array<std::string_view, 3> values;
  find_args(text, kKeys, values);
  const Args args(text);
  for (size_t k = 0; k < kKeys.size(); ++k) EXPECT_EQ(values[k], args.raw(kKeys[k]));
  EXPECT_EQ(to_number(values[0]), 100);
  EXPECT_EQ(to_number(values[1]), 22.222221);
  EXPECT_EQ(values[2], "[2400, 1, 1]");
}

TEST(ArgsScan, EventsThatBeginAlikeAreReadAlike) {
  const std::string_view texts[] = {
      R"({"name": "k", "pid": 0, "ts": 1, "dur": 2, "args": {"a": 1, "b": 2}})",
      R"({"name": "k", "pid": 0, "ts": 33.5, "dur": 4, "args": {"a": 3, "b": "4"}})",
      R"({"name": "k", "pid": 0, "ts": 5, "args": {"c": "a", "b": 6}})",
      R"({"name": "k", "pid": 7, "ts": 5, "args": {"a": 7}})",
      R"({"name": "k", "pid": 7, "args": {"a": 8}, "ts": 5})",
      R"({"name": "k", "pid": 7, "ts": 5, "args": {"a": 9, "b": {"a": 1}}})",
      R"({"name": "k", "pid": 7, "ts": )",
  };
  constexpr std::array<std::string_view, 2> kKeys = {"a", "b"};
  ArgsScanner scanner;
  for (const std::string_view text : texts) {
    Values values{"old", "old"};
    scanner.find(text, 5, kKeys, values);
    EXPECT_EQ(values, find_a_and_b(text)) << text;
    EXPECT_EQ(values, find_a_and_b(going_on(text))) << text;
  }
}

TEST(ArgsScan, KeysInStringsAreNone) {
  for (const std::string_view text : {
           R"({"args": {"c": "a", "x": ["b", "a"], "a": 1, "b": 2, "c": 0.5000000000000}})",
           R"({"args": {"c": "}", "a": 1, "b": 2, "and it goes on for long": "enough"}})",
           R"({"args": {"c": "\"a\": 7", "a": 1, "b": 2, "and it goes on for long": 0}})",
           R"({"args": {"c": {"a": 3}, "a": 1, "b": 2, "and it goes on for long": 0}})",
           R"({"args": {"c": [{"a": 3}], "a" :1 , "b" : 2 , "and it goes on for long": 0}})",
       }) {
    EXPECT_EQ(find_a_and_b(text), (Values{"1", "2"})) << text;
    EXPECT_EQ(find_a_and_b(going_on(text)), (Values{"1", "2"})) << text;
  }
}

TEST(ArgsScan, NumbersOfAnyForm) {
  EXPECT_EQ(to_integer("17"), 17);
  EXPECT_EQ(to_integer("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(to_integer(R"("1e3")"), 1000);
  EXPECT_EQ(to_integer("9223372036854775808"), std::nullopt);
  EXPECT_EQ(to_integer("true"), std::nullopt);
  EXPECT_EQ(to_integer(""), std::nullopt);
  EXPECT_EQ(to_number("2.5e-1"), 0.25);
  EXPECT_EQ(to_number("NaN"), std::nullopt);
  EXPECT_EQ(to_number("inf"), std::nullopt);
}

}  // namespace
}  // namespace redline::trace
