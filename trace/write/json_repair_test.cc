#include "trace/write/json_repair.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace redline::trace {
namespace {

TEST(JsonRepair, WhatIsNoJsonBecomesText) {
  JsonRepair repair;
  const std::pair<std::string, std::string> rows[] = {
      {R"({"a":  [1, {"b": null}]})", R"({"a":  [1, {"b": null}]})"},
      {R"("text")", R"("text")"},
      {"{}", "{}"},
      {R"({"a": NaN,"b": [inf, 1] , "c": 01, "d": [1]})",
       R"({"a": "NaN", "b": "[inf, 1]", "c": "01", "d": [1]})"},
      {"{\"a\tb\": \"c\nd\", \"e\": 1}", R"({"a\u0009b": "c\u000ad", "e": 1})"},
      {"{\"a\": [\"\xFF\", 1], \"b\": 2}", "{\"a\": [\"\xEF\xBF\xBD\", 1], \"b\": 2}"},
      {"{\"a\xFF\": [\"\xFF\", nan]}", "{\"a\xEF\xBF\xBD\": \"[\\\"\xEF\xBF\xBD\\\", nan]\"}"},
      {R"({"a": "\ud800"})", "{\"a\": \"\xEF\xBF\xBD\"}"},
      {R"({"a": 1, "b": "cut)", R"({"a": 1})"},
      {R"({"a": 1, b: 2})", R"({"a": 1})"},
      {"inf", "{}"},
      {"", "{}"}};
  for (const auto& [text, sound] : rows) {
    EXPECT_EQ(repair.sound(text), sound) << text;
    EXPECT_TRUE(nlohmann::json::accept(repair.sound(text))) << text;
  }
}

}  // namespace
}  // namespace redline::trace
