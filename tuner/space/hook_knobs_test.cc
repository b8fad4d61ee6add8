#include "tuner/space/hook_knobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tuner/space/knob.h"

namespace redline::tuner {
namespace {

using ::testing::HasSubstr;

TEST(HookKnobs, AreAllComplete) {
  std::set<std::string_view> names;
  std::set<std::string_view> titles;
  for (const HookKnob& knob : hook_knobs()) {
    EXPECT_TRUE(names.insert(knob.name).second) << knob.name;
    EXPECT_TRUE(titles.insert(knob.title).second) << knob.name;
    EXPECT_TRUE(!knob.title.empty() && knob.title.size() <= 8) << knob.name;
    EXPECT_TRUE(parse_knob(std::string(knob.name) + "=" + std::string(knob.example))) << knob.name;
  }
}

TEST(HookKnobs, KnowsWhatTheHookCanSet) {
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
