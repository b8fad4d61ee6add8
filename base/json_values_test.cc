#include "base/json_values.h"

#include <gtest/gtest.h>

namespace redline {
namespace {

using nlohmann::json;

TEST(JsonValues, WhatIsNotThereOrOfAnotherTypeIsNothing) {
  const json object = {{"text", "a"}, {"whole", 7}, {"flag", true}};
  EXPECT_EQ(text_in(object, "text") + text_in(object, "whole") + text_in(object, "none"), "a");
  EXPECT_EQ(whole_in(object, "whole") + whole_in(object, "text") + whole_in(object, "flag"), 7);
  EXPECT_TRUE(flag_in(object, "flag"));
  EXPECT_FALSE(flag_in(object, "whole") || flag_in(object, "none"));
  EXPECT_EQ(text_in(json::array({"text"}), "text"), "");
}

TEST(JsonValues, TextOfBytesThatAreNoUtf8IsWritten) {
  EXPECT_EQ(json_text(json{{"name", "a\xff"}}), "{\"name\":\"a\uFFFD\"}");
  EXPECT_EQ(json_text(json{{"a", 1}}, 2), "{\n  \"a\": 1\n}");
}

}  // namespace
}  // namespace redline
