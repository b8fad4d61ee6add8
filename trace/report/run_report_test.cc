#include "trace/report/run_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "trace/report/run_chart.h"
#include "trace/report/run_words.h"

namespace redline::trace {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

RunVerdict some_verdict() {
  RunVerdict verdict;
  verdict.ranks.resize(2);
  for (int rank = 0; rank < 2; ++rank) {
    RankRow& row = verdict.ranks[static_cast<size_t>(rank)];
    row.rank = rank;
    row.host = rank == 0 ? "node0" : "<b>";
    row.steps = 9000;
    row.step_ns = 4e7;
    row.own_ns = 3e7;
  }
  verdict.begin_ns = 1'700'000'000'000'000'000;
  verdict.end_ns = verdict.begin_ns + 400'000'000'000;
  verdict.steps = 9000;
  verdict.steps_per_s = 22.5;
  verdict.samples_per_s = 1440;
  verdict.part_share[static_cast<size_t>(LogPart::kForward)] = 0.75;
  verdict.other_share = 0.25;
  for (int64_t i = 0; i < 90; ++i) {
    verdict.points.push_back(
        {verdict.begin_ns + i * 4'444'000'000, i * 100, i < 50 ? 24.0 : 20.0, std::nullopt});
  }
  verdict.slow.resize(1);
  verdict.slow[0].step = 777;
  verdict.slow[0].begin_ns = verdict.begin_ns + 9;
  verdict.slow[0].length_ns = 2'000'000'000;
  RunFinding slower;
  slower.cause = RunCause::kSlower;
  slower.part = LogPart::kDataWait;
  slower.from_step = 5000;
  slower.change = 0.2;
  slower.ranks = {1};
  slower.host = "<b>";
  slower.lost_share = 0.08;
  RunFinding died;
  died.cause = RunCause::kDied;
  died.ranks = {0};
  died.from_step = 9000;
  verdict.findings = {died, slower};
  return verdict;
}

TEST(RunReport, TextHasEightyColumnsAndNamesWhatWasFound) {
  const std::string text = run_text(some_verdict(), {.colour = false, .utf8 = true});
  size_t begin = 0;
  for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    EXPECT_LE(columns(std::string_view(text).substr(begin, end - begin)), kTerminalColumns)
        << text.substr(begin, end - begin);
    begin = end + 1;
  }
  EXPECT_NE(text.find("Rank 0 died after 9,000 steps"), std::string::npos) << text;
  EXPECT_NE(text.find("From step 5,000 on 20 % slower: waiting for data"), std::string::npos);
  EXPECT_NE(text.find("4.8 min of each hour"), std::string::npos);
  EXPECT_EQ(text.find("backward"), std::string::npos) << "nothing of a part that nobody saw";
}

TEST(RunReport, AWarmUpCostsItsTimeOnceAndIsNoPartOfTheUsualRates) {
  RunVerdict verdict = some_verdict();
  verdict.warm_up_steps = 8;
  verdict.low_steps_per_s = 16.2;
  verdict.high_steps_per_s = 20.5;
  RunFinding warm_up;
  warm_up.cause = RunCause::kWarmUp;
  warm_up.count = 8;
  warm_up.typical_ns = 7.5e9;
  warm_up.lost_share = 0.8;
  verdict.findings = {warm_up};
  const std::string text = run_text(verdict, {.colour = false, .utf8 = true});
  EXPECT_NE(text.find("without the first 8 steps: a tenth below 16.2 steps/s, a tenth above 20.5"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(" 7.5 s once\n"), std::string::npos);
  EXPECT_EQ(text.find("of each hour"), std::string::npos);
}

TEST(RunReport, ASingleSlowStepSaysNothingOfAnHour) {
  RunFinding slow;
  slow.cause = RunCause::kSlowSteps;
  slow.lost_share = 0.03;
  slow.typical_ns = 61.6e6;
  slow.count = 1;
  slow.is_single = true;
  EXPECT_EQ(cost_of(slow)->time + " " + cost_of(slow)->how_often, "61.6 ms once");
  EXPECT_EQ(detail_of(slow),
            "1 step took 61.6 ms longer. No part of the step that the log sees explains it: look "
            "at what the script does between its steps.");
  slow.part = LogPart::kForward;
  EXPECT_EQ(detail_of(slow), "In 1 step forward took 61.6 ms longer.") << "the step took more";
  slow.count = 2;
  slow.is_single = false;
  EXPECT_EQ(cost_of(slow)->time + " " + cost_of(slow)->how_often, "1.8 min of each hour");
  slow.period = 50;
  EXPECT_EQ(detail_of(slow),
            "In 2 steps forward took 61.6 ms longer on average, one each 50 steps.");
}

TEST(RunReport, NorDoesASingleCheckpoint) {
  RunFinding saved;
  saved.part = LogPart::kCheckpoint;
  saved.lost_share = saved.share = 0.17;
  saved.typical_ns = 2e9;
  saved.count = 1;
  saved.is_single = true;
  EXPECT_EQ(headline_of(saved), "Saving checkpoints takes 17 % of the time");
  EXPECT_EQ(cost_of(saved)->time + " " + cost_of(saved)->how_often, "2.0 s once");
}

TEST(RunReport, AWaitForAGpuIsNoMatterOfTheScript) {
  RunFinding slow;
  slow.cause = RunCause::kSlowSteps;
  slow.typical_ns = 2e9;
  slow.count = 59;
  slow.period = 50;
  slow.may_be_queued = true;
  EXPECT_THAT(detail_of(slow),
              StartsWith("59 steps took 2.0 s longer on average, one each 50 steps. On a GPU the "
                         "host launches steps ahead"));
  EXPECT_FALSE(cost_of(slow));
  slow.by_others = true;
  EXPECT_THAT(detail_of(slow), HasSubstr("Other processes had the cores at that time."));
}

TEST(RunReport, WaitsThatLateRanksHaveTooAreOfTheNetwork) {
  RunFinding waits;
  waits.part = LogPart::kCommunicationWait;
  EXPECT_THAT(detail_of(waits), StartsWith("No rank is always behind"));
  waits.takes_turns = true;
  EXPECT_THAT(detail_of(waits), StartsWith("Now one rank's own work takes longer"));
  waits.takes_turns = false;
  waits.all_wait = true;
  EXPECT_THAT(detail_of(waits), StartsWith("Ranks that are late wait so long, too: look at what"));
}

TEST(RunReport, RanksThatDiedMayHaveMadeOtherSteps) {
  RunFinding died;
  died.cause = RunCause::kDied;
  died.ranks = {0, 1};
  died.from_step = 1;
  EXPECT_EQ(headline_of(died), "Ranks 0, 1 died after 1 step");
  died.to_step = 1250;
  EXPECT_EQ(headline_of(died), "Ranks 0, 1 died after 1 to 1,250 steps");
}

TEST(RunReport, ASlowDownMayBeThatOfSmallerBatches) {
  RunFinding slower;
  slower.cause = RunCause::kSlower;
  slower.is_whole_step = true;
  slower.fewer_samples = 0.5;
  EXPECT_EQ(detail_of(slower), "A step takes no longer then, but has 50 % fewer samples.");
}

TEST(RunReport, SlowStepsMayBeInSeveralParts) {
  RunFinding slow;
  slow.cause = RunCause::kSlowSteps;
  slow.typical_ns = 180e6;
  slow.count = 11;
  slow.period = 53;
  slow.longer_ns = {0, 60e6, 61e6, 59e6, 0, 0, 0, 1e6, 0};
  EXPECT_EQ(headline_of(slow), "11 steps are slow, in several parts");
  EXPECT_EQ(detail_of(slow),
            "11 steps took 180.0 ms longer on average, one each 53 steps. Several parts took "
            "longer: backward 61.0 ms, forward 60.0 ms, the optimizer 59.0 ms.");
  slow.longer_ns = {0, 60e6, 61e6, 1e6, 0, 0, 0, 1e6, 0};
  EXPECT_THAT(detail_of(slow), HasSubstr("longer: backward 61.0 ms, forward 60.0 ms."));
  RunVerdict verdict = some_verdict();
  verdict.findings = {slow};
  verdict.slow[0].excess_ns = 180'000'000;
  EXPECT_THAT(run_text(verdict, {}), HasSubstr("no part that is seen"));
  EXPECT_TRUE(run_json(verdict)["slow_steps"][0]["part"].is_null());
  verdict.slow[0].longer_ns = {0, 40e6F, 40e6F, 40e6F};
  EXPECT_THAT(run_text(verdict, {}), HasSubstr("several parts, rank 0\n"));
  EXPECT_THAT(run_html(verdict), HasSubstr("step 777: 2.0 s, several parts"));
  const auto json = run_json(verdict);
  EXPECT_EQ(json["slow_steps"][0]["part"], "several");
  EXPECT_EQ(json["findings"][0]["part"], "several");
}

TEST(RunReport, SeveralRanksWorkAndOneWorks) {
  RunFinding uneven;
  uneven.cause = RunCause::kUnevenRank;
  uneven.change = 0.24;
  uneven.typical_ns = 15e6;
  uneven.by_others = true;
  uneven.ranks = {3};
  EXPECT_EQ(headline_of(uneven), "Rank 3 works 24 % longer than the others");
  EXPECT_EQ(detail_of(uneven),
            "It takes 15.0 ms a step longer, and the others wait for it. Its threads waited for a "
            "core longer than those of the others.");
  uneven.ranks = {3, 5};
  EXPECT_EQ(headline_of(uneven), "Ranks 3, 5 work 24 % longer than the others");
  EXPECT_EQ(detail_of(uneven),
            "They take 15.0 ms a step longer, and the others wait for them. Their threads waited "
            "for a core longer than those of the others.");
  uneven.by_others = false;
  uneven.part = LogPart::kDataWait;
  EXPECT_THAT(detail_of(uneven), HasSubstr("wait for them. More workers"));
  uneven.part = LogPart::kCheckpoint;
  EXPECT_THAT(detail_of(uneven), HasSubstr("wait for them. Save less often"));
}

TEST(RunReport, WhatRanksDoInTurnsIsSaidToBeSo) {
  RunVerdict verdict = some_verdict();
  verdict.findings.resize(1);
  EXPECT_EQ(run_json(verdict)["findings"][0]["takes_turns"], false);
  RunFinding& turns = verdict.findings[0] = {};
  turns.part = LogPart::kDataWait;
  turns.takes_turns = true;
  EXPECT_EQ(run_json(verdict)["findings"][0]["takes_turns"], true);
  EXPECT_THAT(detail_of(turns), StartsWith("Now one rank takes longer in it and now another, and "
                                           "the others wait for it. More workers"));
  turns.count = 5;
  turns.typical_ns = 61'600'000;
  EXPECT_THAT(detail_of(turns), StartsWith("In 5 steps waiting for data took 61.6 ms longer on "
                                           "average. Now one rank"));
}

TEST(RunReport, OneCoreIsTheOnlyOne) {
  RunFinding lack;
  lack.cause = RunCause::kOtherProcesses;
  lack.taken_cores = 0.6;
  lack.cores = 1;
  EXPECT_EQ(headline_of(lack), "Other processes take 0.6 of the only core");
  lack.cause = RunCause::kCrowdedCores;
  lack.taken_cores = 1.9;
  EXPECT_EQ(headline_of(lack), "1.9 threads of the job at a time share 1 core");
  lack.cores = 2;
  lack.host = "node1";
  EXPECT_EQ(headline_of(lack), "1.9 threads of the job at a time share 2 cores of node1");
  lack.ranks = {3};
  EXPECT_EQ(headline_of(lack), "1.9 threads of the job at a time share 2 cores of rank 3 (node1)");
}

TEST(RunReport, LongTimesAreInMinutesAndHours) {
  RunFinding warm_up;
  warm_up.cause = RunCause::kWarmUp;
  warm_up.count = 56;
  warm_up.lost_share = 0.5;
  warm_up.typical_ns = 59.9e9;
  EXPECT_EQ(headline_of(warm_up), "The first 56 steps took 59.9 s longer than later ones");
  warm_up.typical_ns = 2399.7e9;
  EXPECT_THAT(headline_of(warm_up), HasSubstr("took 40 min longer"));
  EXPECT_EQ(cost_of(warm_up)->time, "40 min");
}

TEST(RunReport, UsualRatesAreNotCut) {
  RunVerdict verdict = some_verdict();
  verdict.warm_up_steps = 1234;
  verdict.low_steps_per_s = 0.00828;
  verdict.high_steps_per_s = 0.00831;
  const std::string text = run_text(verdict, {.colour = false, .utf8 = true});
  EXPECT_THAT(text, HasSubstr("0.00831"));
}

TEST(RunReport, ASlowBeginIsSlowerThanWhatCameLater) {
  RunFinding begin;
  begin.cause = RunCause::kSlower;
  begin.to_step = 2000;
  begin.change = 0.5;
  begin.by_others = true;
  EXPECT_EQ(headline_of(begin), "Until step 2,000 50 % slower than later");
  EXPECT_EQ(detail_of(begin),
            "Other processes had the cores then, and the job's threads waited for one.");
  begin.from_step = begin.risen_step = 1000;
  EXPECT_EQ(headline_of(begin), "From step 1,000 to 2,000 50 % slower");
  EXPECT_EQ(detail_of(begin),
            "Other processes have taken more of the cores since then, and the job's threads "
            "waited for one.");
}

TEST(RunReport, ASlowDownThatCameBitByBitSaysWhereItWasReached) {
  RunFinding slower;
  slower.cause = RunCause::kSlower;
  slower.from_step = 1000;
  slower.risen_step = 3000;
  slower.change = 0.12;
  slower.is_whole_step = true;
  EXPECT_EQ(headline_of(slower),
            "From step 1,000 on slower and slower, by 12 % at step 3,000: all parts of the step "
            "alike");
  slower.more_tokens = 0.061;
  EXPECT_EQ(detail_of(slower), "The samples have 6.1 % more tokens then.");
  EXPECT_FALSE(cost_of(slower));
}

TEST(RunReport, TooFewStepsAreNoSoundRun) {
  RunVerdict verdict = some_verdict();
  verdict.findings.clear();
  EXPECT_THAT(run_text(verdict, {}), HasSubstr("nothing that the step log shows"));
  EXPECT_THAT(run_html(verdict), HasSubstr("Nothing that the step log shows."));
  verdict.has_too_few_steps = true;
  constexpr const char* kWords = "oo few steps to judge: a run needs 8, or a minute of them";
  EXPECT_THAT(run_text(verdict, {}), HasSubstr(kWords));
  EXPECT_THAT(run_html(verdict), HasSubstr(kWords));
}

TEST(RunReport, RanksOfDifferentLengthsShowTheirSteps) {
  RunVerdict verdict = some_verdict();
  EXPECT_THAT(run_text(verdict, {}), Not(HasSubstr("9,000    40.0 ms")));
  verdict.ranks[1].steps = 5000;
  EXPECT_THAT(run_text(verdict, {}),
              AllOf(HasSubstr("9,000    40.0 ms"), HasSubstr("5,000    40.0 ms")));
}

TEST(RunReport, SummaryHasTheRateAndThreeFindings) {
  RunVerdict verdict = some_verdict();
  verdict.findings.resize(5, verdict.findings.back());
  const std::string text = run_summary(verdict, {.colour = false, .utf8 = true});
  EXPECT_TRUE(text.starts_with("RUN  2 ranks · 9,000 steps")) << text;
  EXPECT_NE(text.find("Rank 0 died after 9,000 steps"), std::string::npos);
  EXPECT_NE(text.find("\n  3  "), std::string::npos);
  EXPECT_EQ(text.find("\n  4  "), std::string::npos);
  EXPECT_EQ(text.find("WHERE AN HOUR"), std::string::npos);
  EXPECT_TRUE(text.ends_with("\n") && !text.ends_with("\n\n"));
}

TEST(RunReport, AnHourWithoutPartsIsNoTable) {
  RunVerdict verdict = some_verdict();
  EXPECT_THAT(run_text(verdict, {}), HasSubstr("WHERE AN HOUR"));
  EXPECT_THAT(run_html(verdict), HasSubstr("Where an hour"));
  verdict.part_share = {};
  verdict.other_share = 1;
  EXPECT_THAT(run_text(verdict, {}), Not(HasSubstr("WHERE AN HOUR")));
  EXPECT_THAT(run_html(verdict), Not(HasSubstr("Where an hour")));
}

TEST(RunReport, FiguresForTrackersAreFlatNumbers) {
  RunVerdict verdict = some_verdict();
  verdict.tokens_per_s = std::nullopt;
  const auto figures = nlohmann::json::parse(run_figures_json(verdict));
  EXPECT_EQ(figures["redline/steps"], 9000);
  EXPECT_EQ(figures["redline/ranks"], 2) << "of which the samples are";
  EXPECT_FALSE(figures.contains("redline/tokens_per_s"));
  for (const auto& [name, value] : figures.items()) {
    EXPECT_TRUE(name.starts_with("redline/") && value.is_number()) << name;
  }
}

TEST(RunReport, JsonSaysNullOfWhatIsUnknown) {
  Report report;
  report.run = some_verdict();
  report.path = "some/logs";
  const auto json = nlohmann::json::parse(report_json(report));
  EXPECT_EQ(json["schema"], "redline.report/1");
  EXPECT_TRUE(json["traces"].empty());
  const auto& run = json["run"];
  EXPECT_EQ(run["part_shares"]["forward"], 0.75);
  EXPECT_TRUE(run["part_shares"]["backward"].is_null());
  EXPECT_EQ(run["findings"][0]["cause"], "died");
  EXPECT_TRUE(run["findings"][0]["lost_share"].is_null());
  EXPECT_EQ(run["findings"][1]["part"], "data_wait");
  EXPECT_EQ(run["findings"][1]["ranks"][0], 1);
  EXPECT_EQ(run["slow_steps"][0]["step"], 777);
}

TEST(RunReport, PageOfLogsAloneHasTheChartAndNoMarkupFromNames) {
  Report report;
  report.run = some_verdict();
  report.path = "some/logs/";
  const std::string page = report_html(report);
  EXPECT_NE(page.find("<title>logs/ · Redline</title>"), std::string::npos);
  EXPECT_NE(page.find("Rate over the whole run"), std::string::npos);
  EXPECT_NE(page.find("(&lt;b&gt;)"), std::string::npos);
  EXPECT_EQ(page.find("<script"), std::string::npos) << "without traces there is no timeline";
}

TEST(RunReport, EachFormSaysWhatTheLogsLack) {
  Report report;
  report.run = some_verdict();
  report.path = "logs";
  for (const std::string& form : {report_text(report, {}, {}), report_html(report)}) {
    EXPECT_THAT(form, Not(AnyOf(HasSubstr("could not be written"), HasSubstr("left out"),
                                HasSubstr("joined to minutes"))));
  }
  report.run->lost_steps = 3;
  report.run->lost_marks = 5;
  report.run->thinned_before_ns = report.run->begin_ns + 300'000'000'000;
  report.run->thinned_before_step = 7000;
  report.run->damaged_bytes = 4096;
  report.run->earlier_logs = 2;
  report.run->after_steps_ns = 30'000'000'000;
  for (const std::string& form : {report_text(report, {}, {}), report_html(report)}) {
    EXPECT_THAT(form, AllOf(HasSubstr("3 steps could not be written to the log"),
                            HasSubstr("5 marks could not be written to the log"),
                            HasSubstr("steps before 7,000 (5 min) are joined to minutes"),
                            HasSubstr("4.0 KiB of the logs are damaged and were left out"),
                            HasSubstr("30.0 s after the last step, such as evaluation or the exit: "
                                      "left out"),
                            HasSubstr("2 logs of earlier starts")));
  }
  const auto run = nlohmann::json::parse(report_json(report))["run"];
  EXPECT_EQ(run["lost_steps"], 3);
  EXPECT_EQ(run["lost_marks"], 5);
  EXPECT_EQ(run["thinned_before_ns"], 1'700'000'300'000'000'000);
  EXPECT_EQ(run["thinned_before_step"], 7000);
  EXPECT_EQ(run["damaged_bytes"], 4096);
  EXPECT_EQ(run["earlier_logs"], 2);
  EXPECT_EQ(run["after_steps_ns"], 30'000'000'000);
}

TEST(RunReport, WhyALogIsLeftOutIsSaidToTheEnd) {
  RunVerdict verdict = some_verdict();
  verdict.unreadable_logs = {
      "logs/of/one/job/rank0.steps.redline: is empty: its rank ended before it wrote a step, could "
      "not write, or has only begun"};
  EXPECT_THAT(run_text(verdict, {}),
              HasSubstr("\n  1 log left out: logs/of/one/job/rank0.steps.redline: is empty: its "
                        "rank ended\n  before it wrote a step, could not write, or has only "
                        "begun\n"));
}

TEST(RunReport, TheChartMarksEachPlaceToTheEndOfALongRun) {
  RunVerdict verdict = some_verdict();
  for (int64_t i = 0; i < 5000; ++i) {
    verdict.marks.push_back({verdict.begin_ns + i * 80'000'000, 0, LogMarkKind::kEpoch, ""});
  }
  verdict.marks.push_back({verdict.end_ns, 0, LogMarkKind::kException, "ValueError: <b>"});
  const RunChart chart = run_chart(verdict);
  const auto count = [&](LogMarkKind event) {
    return std::ranges::count_if(chart.marks, [event](const RunChartMark& mark) {
      return mark.kind == RunChartMark::Kind::kEvent && mark.event == event;
    });
  };
  EXPECT_GT(count(LogMarkKind::kEpoch), 900);
  EXPECT_LT(count(LogMarkKind::kEpoch), 1100);
  EXPECT_EQ(count(LogMarkKind::kException), 1);
  const std::string page = run_html(verdict);
  EXPECT_NE(page.find("exception ValueError: &lt;b&gt;"), std::string::npos);
  EXPECT_NE(page.find("<title>step 777: 2.0 s</title>"), std::string::npos);
  EXPECT_NE(page.find("<title>From step 5,000 on 20 % slower"), std::string::npos);
}

TEST(RunReport, TheChartHasASlowStepInItsPlaceWhateverTheClockOfItsHost) {
  RunVerdict verdict = some_verdict();
  const auto time_of_slow_step = [&](int64_t begin_ns) {
    verdict.slow[0].begin_ns = begin_ns;
    const RunChart chart = run_chart(verdict);
    const auto mark =
        std::ranges::find(chart.marks, RunChartMark::Kind::kSlowStep, &RunChartMark::kind);
    return mark == chart.marks.end() ? 0 : mark->time_ns;
  };
  const int64_t from_ns = verdict.points[7].time_ns, to_ns = verdict.points[8].time_ns;
  constexpr int64_t kHourNs = 3'600'000'000'000;
  EXPECT_EQ(time_of_slow_step(from_ns + 3), from_ns + 3);
  EXPECT_EQ(time_of_slow_step(from_ns - kHourNs), from_ns);
  EXPECT_EQ(time_of_slow_step(from_ns + kHourNs), to_ns);
  verdict.slow[0].step = 8990;
  EXPECT_EQ(time_of_slow_step(from_ns + kHourNs), verdict.end_ns);
}

TEST(RunReport, TheChartSaysWithWhichStepItBegins) {
  RunVerdict verdict = some_verdict();
  EXPECT_THAT(run_html(verdict), HasSubstr(">step 0</text>"));
  verdict.points.erase(verdict.points.begin(), verdict.points.begin() + 30);
  EXPECT_THAT(run_html(verdict), HasSubstr(">step 3,000</text>"));
}

TEST(RunReport, EachKindOfMarkHasAColour) {
  const std::pair<LogMarkKind, const char*> kColours[] = {{LogMarkKind::kEpoch, "annotation"},
                                                          {LogMarkKind::kWindow, "kernel"},
                                                          {LogMarkKind::kOutOfMemory, "dataloader"},
                                                          {LogMarkKind::kCompile, "overlap"},
                                                          {LogMarkKind::kEvaluation, "operator"},
                                                          {LogMarkKind::kCheckpoint, "memcpy"},
                                                          {LogMarkKind::kException, "dataloader"},
                                                          {LogMarkKind::kNote, "dim"},
                                                          {LogMarkKind::kBatches, "dim"},
                                                          {LogMarkKind::kTraining, "dim"}};
  RunVerdict verdict = some_verdict();
  for (const auto& [kind, colour] : kColours) {
    verdict.marks = {{verdict.begin_ns, 0, kind, "said"}};
    EXPECT_THAT(run_html(verdict),
                HasSubstr(std::string("stroke:var(--") + colour + ");stroke-width:2\"><title>" +
                          std::string(log_mark_name(kind)) + " said</title>"));
  }
}

TEST(RunReport, MoreWorkersAreNoCureWhereTheirStartOrTheirHandOverIsWaitedFor) {
  RunFinding waits;
  waits.part = LogPart::kDataWait;
  EXPECT_THAT(detail_of(waits), HasSubstr("More workers"));
  waits.no_free_core = true;
  EXPECT_THAT(detail_of(waits), HasSubstr("more workers would not help"));
  waits.no_free_core = false;
  waits.short_wait_ns = 160e3;
  EXPECT_EQ(detail_of(waits),
            "A step that waits does so for 160.0 us on average. Handing a batch over from a worker "
            "takes about as long: a larger batch may help, or indexing the tensors if all data are "
            "in memory.");
  waits.at_epochs = true;
  EXPECT_THAT(detail_of(waits),
              AllOf(HasSubstr("persistent_workers=True"), Not(HasSubstr("More workers"))));
}

TEST(RunReport, ForTakingBatchesThatLayReadyNoWorkersAreAdvised) {
  RunFinding taken;
  taken.part = LogPart::kHandOver;
  taken.share = taken.lost_share = 0.12;
  EXPECT_EQ(headline_of(taken), "Handing batches over takes 12 % of the time");
  EXPECT_THAT(detail_of(taken), AllOf(HasSubstr("more workers would not help"),
                                      HasSubstr("fewer tensors"), HasSubstr("pin_memory")));
}

TEST(RunReport, EachCauseHasASentence) {
  for (size_t cause = 0; cause < kRunCauses; ++cause) {
    RunFinding finding;
    finding.cause = static_cast<RunCause>(cause);
    finding.part = LogPart::kDataWait;
    finding.ranks = {3};
    finding.count = 2;
    EXPECT_FALSE(headline_of(finding).empty()) << cause;
    EXPECT_FALSE(run_cause_key(finding.cause).empty()) << cause;
  }
}

}  // namespace
}  // namespace redline::trace
