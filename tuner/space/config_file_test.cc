#include "tuner/space/config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace redline::tuner {
namespace {

using ::testing::HasSubstr;

TEST(ConfigFile, ReadsKnobsAsTheirUsersWriteThem) {
  const auto config = parse_config(
      R"({"schema": "redline.config/1", "knobs": {"batch_size": 256, "amp": "bf16", "x": true, "lr": 0.5}})");
  ASSERT_TRUE(config) << config.error();
  EXPECT_EQ(*config, (Config{{"batch_size", "256"}, {"amp", "bf16"}, {"x", "on"}, {"lr", "0.5"}}));
}

TEST(ConfigFile, SaysWhatIsWrong) {
  const struct {
    const char* text;
    const char* error;
  } cases[] = {
      {"", "no JSON"},
      {"{\"schema\": \"redline.config/1\"", "no JSON"},
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

TEST(ConfigFile, KnowsWhatTheHookCanSet) {
  EXPECT_TRUE(check_hook_knob("batch_size", "64"));
  EXPECT_TRUE(check_hook_knob("num_workers", "0"));
  EXPECT_TRUE(check_hook_knob("amp", "bf16"));
  EXPECT_THAT(check_hook_knob("batch_size", "0").error(), HasSubstr("at least 1"));
  EXPECT_THAT(check_hook_knob("batch_size", "many").error(), HasSubstr("whole number"));
  EXPECT_THAT(check_hook_knob("amp", "int8").error(), HasSubstr("off, bf16, fp16"));
  EXPECT_THAT(check_hook_knob("lr", "1").error(), HasSubstr("{lr}"));
}

}  // namespace
}  // namespace redline::tuner
