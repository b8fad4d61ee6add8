#include "tuner/show/study_texts.h"

#include <gtest/gtest.h>

#include <regex>

namespace redline::tuner {
namespace {

TEST(PageCharts, AreScaledByWhatWasSearchedFor) {
  const Space space = *make_space({"batch_size=1..64"}, {"train", "{batch_size}"}, {});
  History history(space, Objective::kSamplesPerJoule);
  for (const auto& [batch, per_joule] : {std::pair{"8", 20'000.0}, std::pair{"16", 40'000.0}}) {
    FinishedTrial trial{.id = 1, .config = {{"batch_size", batch}}, .why = "batch", .result = {}};
    trial.result.outcome = Outcome::kOk;
    trial.result.throughput = Throughput{100, 99, 101};
    trial.result.samples_per_joule = Throughput{per_joule, per_joule, per_joule};
    history.add(trial);
  }
  for (const std::string& svg : {batch_chart_svg(history), convergence_chart_svg(history)}) {
    const std::regex dot("cy=([-0-9.]+)");
    auto found = std::sregex_iterator(svg.begin(), svg.end(), dot);
    ASSERT_EQ(std::distance(found, {}), 2);
    for (; found != std::sregex_iterator(); ++found) EXPECT_GT(std::stod((*found)[1]), 0) << svg;
  }
}

}  // namespace
}  // namespace redline::tuner
