#include "base/nearest.h"

#include <gtest/gtest.h>

namespace redline {
namespace {

TEST(Nearest, IsTheNameWithTheFewestSlips) {
  const std::vector<std::string> names = {"--budget", "--knob", "--from-trace", "batch_size",
                                          "report",   "record", "amp"};
  for (const auto& [typed, meant] : std::vector<std::pair<std::string, std::string>>{
           {"--bugdet", "--budget"},          // two letters in wrong order
           {"--budgt", "--budget"},           // one too few
           {"-budgett", "--budget"},          // one too many
           {"--knub", "--knob"},              // a wrong one
           {"--FROM_trace", "--from-trace"},  // what nobody counts
           {"batchsize", "batch_size"},
           {"recrod", "record"},
           {"reprot", "report"},
           {"apm", "amp"},
           {"rep", ""},  // half of the word is missing
           {"xyz", ""},
           {"-x", ""},
           {"", ""}}) {
    EXPECT_EQ(nearest_name(typed, names), meant) << typed;
  }
}

TEST(Nearest, IsAskedForBehindAMessage) {
  EXPECT_EQ(did_you_mean("recrod", {"report", "record"}), "; did you mean record?");
  EXPECT_EQ(did_you_mean("train.py", {"report", "record"}), "");
}

}  // namespace
}  // namespace redline
