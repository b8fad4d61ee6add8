#include "tuner/show/study_texts.h"

#include <gtest/gtest.h>

#include <regex>

#include "tuner/search/testing_history.h"

namespace redline::tuner {
namespace {

TEST(PageCharts, AreScaledByWhatWasSearchedFor) {
  const Space space = *make_space({"batch_size=1..64"}, {"train", "{batch_size}"}, {});
  History history(space, Objective::kSamplesPerJoule);
  for (const auto& [batch, per_joule] : {std::pair{"8", 20'000.0}, std::pair{"16", 40'000.0}}) {
    TrialResult result = ran_at(100, 1);
    result.samples_per_joule = Throughput{per_joule, per_joule, per_joule};
    add_trial(history, {{"batch_size", batch}}, result, "batch");
  }
  for (const std::string& svg : {batch_chart_svg(history), convergence_chart_svg(history)}) {
    const std::regex dot("cy=([-0-9.]+)");
    auto found = std::sregex_iterator(svg.begin(), svg.end(), dot);
    ASSERT_EQ(std::distance(found, {}), 2);
    for (; found != std::sregex_iterator(); ++found) EXPECT_GT(std::stod((*found)[1]), 0) << svg;
    EXPECT_NE(svg.find(std::string(">") + unit_of(Objective::kSamplesPerJoule) + "</text>"),
              std::string::npos)
        << "the axis has a unit";
  }
}

TEST(PageCharts, AxesHaveReadableNumbersWithoutASuccess) {
  const Space space = *make_space({"batch_size=1..64"}, {"train", "{batch_size}"}, {});
  History history(space);
  add_trial(history, {{"batch_size", "8"}}, ended_with(Outcome::kGpuOom));
  for (const std::string& svg : {batch_chart_svg(history), convergence_chart_svg(history)}) {
    EXPECT_NE(svg.find(">0.500</text>"), std::string::npos) << svg;
  }
}

TEST(StudyPage, SaysHowATrialWithoutAMessageEnded) {
  const Space space = *make_space({"batch_size=1..64"}, {"train", "{batch_size}"}, {});
  History history(space);
  add_trial(history, {{"batch_size", "8"}}, ended_with(Outcome::kNanLoss));
  const std::string page = study_page(history, space, std::nullopt, {});
  EXPECT_NE(page.find(">1 trial · "), std::string::npos) << page;
  EXPECT_NE(page.find(">nan_loss</td></tr>"), std::string::npos) << page;
}

TEST(PageCharts, TheModelsPictureSaysWhatLimits) {
  const Space space = *make_space({"batch_size=1..512", "num_workers=0..8"},
                                  {"train", "{batch_size}{num_workers}"}, {});
  StudyTerms terms;
  terms.machine = {.gpu = true, .gpus = 1, .cores = 8};
  History history(space);
  const auto sentence = [&] {
    const std::string svg = model_chart_svg(history, space, *find_best(history), terms);
    return svg.find("The loader limits") != std::string::npos ? "loader"
           : svg.find("Compute limits") != std::string::npos  ? "compute"
                                                              : "";
  };
  const auto add = [&](int batch, int workers) {
    const double rate = std::min({4000.0, batch / 0.004, 1000.0 * workers});
    add_trial(history,
              {{"batch_size", std::to_string(batch)}, {"num_workers", std::to_string(workers)}},
              ran_at(rate, 0.01 * rate));
  };
  for (const int batch : {8, 16, 64}) add(batch, 2);
  EXPECT_STREQ(sentence(), "") << "too few trials";
  add(128, 1);
  add(128, 2);
  EXPECT_STREQ(sentence(), "loader");
  add(128, 8);
  add(64, 8);
  EXPECT_STREQ(sentence(), "compute");
}

TEST(PageCharts, TheModelsPictureMarksWholeBatchesOnly) {
  const Space space = *make_space({"batch_size=1..512"}, {"train", "{batch_size}"}, {});
  History history(space);
  for (const auto& [batch, rate] : {std::pair{"8", 50.0}, std::pair{"16", 80.0},
                                    std::pair{"24", 100.0}, std::pair{"32", 90.0}}) {
    add_trial(history, {{"batch_size", batch}}, ran_at(rate, 1));
  }
  StudyTerms terms;
  terms.machine = {.gpu = true, .gpus = 1, .cores = 8};
  const std::string svg = model_chart_svg(history, space, *find_best(history), terms);
  const std::regex tick("text-anchor=middle>([0-9]+)</text>");
  std::vector<std::string> sizes;
  for (std::sregex_iterator found(svg.begin(), svg.end(), tick); found != std::sregex_iterator();
       ++found) {
    sizes.push_back((*found)[1]);
  }
  EXPECT_EQ(sizes, (std::vector<std::string>{"3", "6", "12", "24", "48", "96"})) << "none at 1.5";
}

}  // namespace
}  // namespace redline::tuner
