// A trace may come from anybody. What its names hold must not run in a browser, move a terminal's
// cursor, turn the text around them, or break a table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "trace/read/reader.h"
#include "trace/report/report.h"
#include "trace/report/what_if_report.h"

namespace redline::trace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// As JSON writes them.
constexpr const char* kNames[] = {
    "<script>alert(1)</script>", R"(\u001b[31mred)", R"(\u009b31m)",     R"(line\nfeed)",
    R"(\u202eturned\u202c)",     R"(nul\u0000byte)", R"(|pipe| `tick`)",
};

Report hostile_report() {
  std::string text =
      R"({"deviceProperties": [{"id": 0, "name": "<b>\u001b[5m\u202e"}], "traceEvents": [)"
      R"({"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "\u001b[31m<i>\u202e"}})";
  const auto event = [&](const char* category, const std::string& name, int64_t ts,
                         const char* rest) {
    text += R"(, {"ph": "X", "cat": ")" + std::string(category) + R"(", "name": ")" + name +
            R"(", "ts": )" + std::to_string(ts) + rest + "}";
  };
  int64_t ts = 0;
  for (const char* name : kNames) {
    event("cpu_op", name, ts, R"(, "dur": 9, "pid": 1, "tid": 1)");
    event("kernel", name, ts,
          R"(, "dur": 9, "pid": 0, "tid": 7, "args": {"device": 0, "stream": 7})");
    ts += 10;
  }
  event("user_annotation", "ProfilerStep#1", 0, R"(, "dur": 100, "pid": 1, "tid": 1)");
  return make_report({parse_trace("memory", text + "]}").value()});
}

void expect_harmless(const std::string& shown) {
  EXPECT_THAT(shown, Not(HasSubstr("\x1b")));
  EXPECT_THAT(shown, Not(HasSubstr("\u009b")));
  EXPECT_THAT(shown, Not(HasSubstr("\u202e")));
  EXPECT_THAT(shown, Not(HasSubstr("line\nfeed")));
  EXPECT_EQ(shown.find('\0'), std::string::npos);
}

TEST(HostileNames, TextShowsThem) {
  const std::string text =
      report_text(hostile_report(), {.colour = false, .utf8 = true}, {TextScope::kAll});
  expect_harmless(text);
  for (const char* part :
       {"?[31mred", "?31m", "line?feed", "?turned?", "nul?byte", "|pipe| `tick`"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(HostileNames, APageShowsThem) {
  const std::string page = report_html(hostile_report());
  expect_harmless(page);
  EXPECT_THAT(page, Not(HasSubstr("\\u202e"))) << "which the page's script would show";
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("<b>\ufffd")));
}

TEST(HostileNames, APredictionShowsWhatIsNoUtf8) {
  std::vector<WhatIfKnob> knobs(1);
  knobs.front().text = "kernels:\xff=2x";
  Prediction prediction;
  prediction.notes = {"of \xff"};
  EXPECT_THAT(what_if_json("odd\xff.json", knobs, prediction),
              AllOf(HasSubstr("\"odd\ufffd.json\""), HasSubstr("kernels:\ufffd=2x"),
                    HasSubstr("of \ufffd")));
}

}  // namespace
}  // namespace redline::trace
