#include "tuner/space/placeholders.h"

#include <gtest/gtest.h>

namespace redline::tuner {
namespace {

TEST(Placeholders, FillsWhatItKnowsAndKeepsOtherBraces) {
  const Config config{{"batch_size", "64"}, {"amp", "bf16"}};
  const struct {
    const char* text;
    const char* expected;
  } cases[] = {
      {"{batch_size}", "64"},
      {"--batch={batch_size}:{amp}", "--batch=64:bf16"},
      {"{batch_size}{batch_size}", "6464"},
      {R"({"lr": 0.1, "b": {batch_size}})", R"({"lr": 0.1, "b": 64})"},
      {"{{amp}}", "{bf16}"},
      {"{unknown} {", "{unknown} {"},
      {"{batch_size", "{batch_size"},
      {"", ""},
  };
  for (const auto& c : cases) EXPECT_EQ(fill_placeholders(c.text, config), c.expected) << c.text;
}

TEST(Placeholders, SaysWhichWereUsed) {
  const Config config{{"batch_size", "64"}, {"amp", "bf16"}, {"lr", "0.1"}};
  EXPECT_EQ(placeholders_in({"x", "--b={batch_size}", "{lr}{b}"}, config),
            (std::set<std::string>{"batch_size", "lr"}));
}

TEST(Placeholders, KnobsBecomeJsonNumbersOrStrings) {
  EXPECT_EQ(knobs_json({{"batch_size", "64"}, {"amp", "bf16"}, {"lr", "0.1"}, {"x", "7b"}}, {"lr"}),
            R"({"amp":"bf16","batch_size":64,"x":"7b"})");
  EXPECT_EQ(knobs_json({}, {}), "{}");
}

}  // namespace
}  // namespace redline::tuner
