#include "viewer/models/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "viewer/models/testing_trace.h"

namespace redline::viewer {
namespace {

using ::testing::HasSubstr;

TEST(LoadReport, NamesEachKindOfTroubleWithItsPlace) {
  const std::string good = training_trace(0).json();
  EXPECT_THAT(load_report(Session({training_trace(0).read()})), HasSubstr("nothing skipped"));
  const auto torn = trace::parse_trace("/data/torn.json", good.substr(0, good.size() - 30));
  ASSERT_TRUE(torn);
  const std::string report = load_report(Session({*torn}));
  EXPECT_THAT(report, HasSubstr("/data/torn.json\n"));
  EXPECT_THAT(report, HasSubstr("at byte "));
  EXPECT_THAT(report, HasSubstr("The text ends within an event."));
  EXPECT_THAT(report, HasSubstr("Copy the file again"));
  EXPECT_THAT(report, ::testing::Not(HasSubstr("nothing skipped")));
}

}  // namespace
}  // namespace redline::viewer
