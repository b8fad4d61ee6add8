#include "tuner/space/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace redline::tuner {
namespace {

using ::testing::HasSubstr;

TEST(ConfigFile, ReadsKnobsAsTheirUsersWriteThem) {
  const auto config = parse_config(
      R"({"schema": "redline.config/1", "knobs": {"batch_size": 256, "amp": "bf16", "x": true, "lr": 0.5},
          "command": ["python", "t.py"]})");
  ASSERT_TRUE(config) << config.error();
  EXPECT_EQ(config->command, (std::vector<std::string>{"python", "t.py"}));
  EXPECT_EQ(config->knobs,
            (Config{{"batch_size", "256"}, {"amp", "bf16"}, {"x", "on"}, {"lr", "0.5"}}));
}

TEST(ConfigFile, SaysWhatIsWrong) {
  const struct {
    const char* text;
    const char* error;
  } cases[] = {
      {"", "not JSON"},
      {"{\"schema\": \"redline.config/1\"", "not JSON"},
      {"[]", "no \"schema\""},
      {R"({"knobs": {}})", "no \"schema\""},
      {R"({"schema": "redline.report/1"})", "its schema is redline.report/1"},
      {R"({"schema": 7})", "its schema is 7"},
      {R"({"schema": "redline.config/1"})", "no \"knobs\""},
      {R"({"schema": "redline.config/1", "knobs": [1]})", "no \"knobs\""},
      {R"({"schema": "redline.config/1", "knobs": {"a": null}})", "knob a is neither"},
  };
  for (const auto& c : cases) {
    const auto config = parse_config(c.text);
    ASSERT_FALSE(config) << c.text;
    EXPECT_THAT(config.error(), HasSubstr(c.error));
  }
  EXPECT_THAT(read_config("/no/such.json").error(), HasSubstr("/no/such.json: No such file"));
}

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
  std::set<std::string> used;
  EXPECT_EQ(fill_placeholders("x --b={batch_size} {lr}{b}", config, &used), "x --b=64 0.1{b}");
  EXPECT_EQ(used, (std::set<std::string>{"batch_size", "lr"}));
}

TEST(Placeholders, KnobsBecomeJsonNumbersOrStrings) {
  EXPECT_EQ(knobs_json({{"batch_size", "64"}, {"amp", "bf16"}, {"lr", "0.1"}, {"x", "7b"}}, {"lr"}),
            R"({"amp":"bf16","batch_size":64,"x":"7b"})");
  EXPECT_EQ(knobs_json({{"seed", "007"}}, {}), R"({"seed":"007"})") << "as the trials had it";
  EXPECT_EQ(knobs_json({}, {}), "{}");
}

}  // namespace
}  // namespace redline::tuner
