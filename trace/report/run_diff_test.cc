#include "trace/report/run_diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>

namespace redline::trace {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<RunFigures> side_of(const std::vector<double>& steps_ms, double data_wait_ms,
                                double bytes) {
  std::vector<RunFigures> runs;
  for (const double ms : steps_ms) {
    RunFigures run;
    run.path = "base/rank0.steps.redline";
    run.ranks = 1;
    run.steps = 100;
    run.begin_ns = std::ssize(runs);
    run.all_steps.step = {ms * 1e6, 1e4};
    run.samples = 32;
    run.all_steps.parts[static_cast<size_t>(LogPart::kDataWait)] =
        StepTime{data_wait_ms * 1e6, 1e3};
    run.all_steps.parts[kLogParts] = StepTime{(ms - data_wait_ms) * 1e6, 1e3};
    run.host_bytes = bytes;
    runs.push_back(run);
  }
  return runs;
}

RunDiff slower(const GateLimits& limits) {
  auto after = side_of({22, 22.1, 21.9}, 3, 1e9);
  for (RunFigures& run : after) run.begin_ns += 100;
  return make_run_diff("logs/base", "logs/new",
                       change_between(side_of({20, 20.1, 19.9}, 1, 1e9), after), limits);
}

void expect_at_most_80_columns(const std::string& text) {
  for (size_t begin = 0, end = text.find('\n'); end != std::string::npos;
       begin = end + 1, end = text.find('\n', begin)) {
    EXPECT_LE(columns(std::string_view(text).substr(begin, end - begin)), kTerminalColumns)
        << text.substr(begin, end - begin);
  }
}

TEST(RunDiffText, SaysHowMuchSlowerAndWhereAndWhatTheLimitsSay) {
  const std::string text =
      run_diff_text(slower({.slower = 0.05, .memory = 0.05}), {.colour = false, .utf8 = true});
  expect_at_most_80_columns(text);
  EXPECT_THAT(text,
              AllOf(HasSubstr("1.10 x slower"), HasSubstr("change +10.0 %, with 95 %"),
                    HasSubstr("3 runs · 300 steps"), HasSubstr("Surely more than 5 % slower."),
                    HasSubstr("Most of it in waiting for data: +2.0 ms a step."),
                    HasSubstr("Surely not more than 5 % more memory."),
                    HasSubstr("Equal runs differ by 0.5 %.")));
}

TEST(RunDiffText, TheOnlyPartThatIsClearIsNotMostOfTheChange) {
  const auto text = [](double data_wait_ms) {
    auto before = side_of({20, 20.1, 19.9}, 1, 1e9);
    auto after = side_of({30, 30.1, 29.9}, data_wait_ms, 1e9);
    for (auto* side : {&before, &after}) {
      for (RunFigures& run : *side) run.all_steps.parts[kLogParts]->error_ns = 2e7;
    }
    return run_diff_text(make_run_diff("a", "b", change_between(before, after), {}), {});
  };
  EXPECT_THAT(text(7), HasSubstr("Most of it in waiting for data: +6.0 ms a step."));
  EXPECT_THAT(text(3), HasSubstr("A part of it in waiting for data: +2.0 ms a step."));
  EXPECT_THAT(text(1.5), Not(HasSubstr("it in waiting for data")));
}

TEST(RunDiffText, OneRunASideIsNoProof) {
  const RunDiff diff =
      make_run_diff("a", "b", change_between(side_of({20}, 1, 1e9), side_of({21}, 1, 1e9)),
                    {.slower = 0.05, .memory = std::nullopt});
  const std::string text = run_diff_text(diff, {});
  expect_at_most_80_columns(text);
  EXPECT_THAT(text, AllOf(HasSubstr("no clear difference"), HasSubstr("Too few runs to know"),
                          HasSubstr("%; too few runs to be certain"), Not(HasSubstr("certainty")),
                          HasSubstr("Cannot tell yet if more than 5 % slower"),
                          Not(HasSubstr("Most of it"))));
  const RunDiff twice =
      make_run_diff("a", "b", change_between(side_of({20}, 1, 1e9), side_of({40}, 1, 1e9)),
                    {.slower = 0.05, .memory = 0.5});
  EXPECT_EQ(twice.gate.outcome(), GateOutcome::kSurelyBeyond);
  EXPECT_THAT(run_diff_text(twice, {}),
              AllOf(HasSubstr("As far as so few runs tell, more than 5 % slower."),
                    HasSubstr("As far as so few runs tell, not more than 50 % more memory."),
                    Not(HasSubstr("Surely"))));
  EXPECT_THAT(run_diff_markdown(twice), HasSubstr("| change | assumed interval |"));
}

TEST(RunDiffText, SaysOfHowManyRanksItIs) {
  const auto said = [](int64_t world_size) {
    auto before = side_of({20}, 1, 1e9), after = side_of({21}, 1, 1e9);
    before[0].world_size = after[0].world_size = world_size;
    const RunDiff diff = make_run_diff("a", "b", change_between(before, after), {});
    const auto json = nlohmann::json::parse(diff_json(nullptr, &diff))["run"]["before"][0];
    EXPECT_EQ(json["world_size"], world_size > 0 ? nlohmann::json(world_size) : nlohmann::json());
    return run_diff_text(diff, {}) + run_diff_markdown(diff) + run_diff_benchmark(diff);
  };
  const std::string sentence = "Compared are the logs of 1 of 2 ranks";
  const std::string text = said(2);
  size_t count = 0;
  for (size_t at = text.find(sentence); at != std::string::npos; at = text.find(sentence, at + 1)) {
    ++count;
  }
  EXPECT_EQ(count, 3U) << "in each form";
  EXPECT_THAT(said(1), Not(HasSubstr("ranks")));
  EXPECT_THAT(said(0), Not(HasSubstr("ranks")));
}

TEST(RunDiffText, SaysWhereTheJobHasAnotherNumberOfRanks) {
  auto before = side_of({20, 20.1}, 1, 1e9), after = side_of({21, 21.1}, 1, 1e9);
  const auto text = [&] {
    const RunDiff diff = make_run_diff("a", "b", change_between(before, after), {});
    return run_diff_text(diff, {.colour = false, .utf8 = true});
  };
  EXPECT_THAT(text(), Not(HasSubstr("rank")));
  for (RunFigures& run : after) run.ranks = 2;
  expect_at_most_80_columns(text());
  EXPECT_THAT(text(), AllOf(HasSubstr("2 runs · 1 rank · 200 steps"),
                            HasSubstr("2 runs · 2 ranks · 200 steps"),
                            HasSubstr("1 rank before, 2 ranks after: times are for the same")));
  before[1].ranks = 4;
  before[0].samples = std::nullopt;
  EXPECT_THAT(text(), AllOf(HasSubstr("2 runs · 1 to 4 ranks · 200 steps"),
                            HasSubstr("2 ranks after: nobody knows whether")));
}

TEST(RunDiffText, SaysHowManyRunsWouldTellTheMemory) {
  auto before = side_of({20, 20.1, 19.9}, 1, 1e9), after = side_of({20, 20.1, 19.9}, 1, 1.04e9);
  for (size_t i = 0; i < 3; ++i) {
    *before[i].host_bytes *= 1 + 0.01 * static_cast<double>(i);
    *after[i].host_bytes *= 1 + 0.02 * static_cast<double>(i);
  }
  for (RunFigures& run : after) run.begin_ns += 100;
  const RunDiff diff = make_run_diff("a", "b", change_between(before, after),
                                     {.slower = std::nullopt, .memory = 0.02});
  EXPECT_THAT(run_diff_sentences(diff).front(),
              AllOf(HasSubstr("Cannot tell yet if more than 2 % more memory: about "),
                    HasSubstr("more run"), HasSubstr(" a side would tell.")));
}

TEST(RunDiffText, OneRunASideSaysWhatMakesMore) {
  const RunDiff diff =
      make_run_diff("a", "b", change_between(side_of({20}, 1, 1e9), side_of({20}, 1, 1e9)), {});
  EXPECT_THAT(run_diff_sentences(diff).back(),
              HasSubstr("redline compare -n 5 makes five of each, in turns."));
}

TEST(RunDiffText, SaysOfWhichSideTheMemoryIsNotKnown) {
  auto before = side_of({20}, 1, 1e9), after = side_of({20}, 1, 1e9);
  const auto diff = [&](const GateLimits& limits) {
    return make_run_diff("a", "b", change_between(before, after), limits);
  };
  const GateLimits limits{.slower = std::nullopt, .memory = 0.05};
  EXPECT_EQ(unknown_memory(diff(limits)), std::nullopt);
  after[0].host_bytes = std::nullopt;
  EXPECT_EQ(unknown_memory(diff({})), std::nullopt);
  EXPECT_EQ(unknown_memory(diff(limits)),
            "b: the memory is not known. Step logs have it: redline run --log DIR -- CMD");
  EXPECT_THAT(run_diff_text(diff(limits), {}),
              AllOf(HasSubstr("b: the memory is not known."), Not(HasSubstr("Cannot tell"))));
  before[0].host_bytes = std::nullopt;
  EXPECT_THAT(unknown_memory(diff(limits)).value_or(""), HasSubstr("a, b: the memory is not"));
}

// All steps differ by up to 20 % from run to run, the undisturbed ones hardly.
RunDiff slower_in_noise(double ratio) {
  auto before = side_of({20, 24, 22, 18}, 1, 1e9), after = side_of({24, 20, 21, 25}, 1, 1e9);
  for (RunFigures& run : after) run.begin_ns += 100;
  for (RunFigures& run : before) run.undisturbed = StepFigures{{16e6, 1e4}, run.all_steps.parts};
  for (RunFigures& run : after) {
    run.undisturbed = StepFigures{{ratio * 16e6, 1e4}, run.all_steps.parts};
  }
  return make_run_diff("a", "b", change_between(before, after),
                       {.slower = 0.03, .memory = std::nullopt});
}

TEST(RunDiffText, SaysWhichStepsTheFiguresAreOf) {
  const std::string text = run_diff_text(slower_in_noise(1.05), {.colour = false, .utf8 = true});
  expect_at_most_80_columns(text);
  EXPECT_THAT(text, AllOf(HasSubstr("16.0 ms"), HasSubstr("1.05 x slower"),
                          HasSubstr("Surely more than 3 % slower."),
                          HasSubstr("These are the undisturbed steps, among the fastest quarter")));
  const RunDiff same = slower_in_noise(1);
  EXPECT_THAT(run_diff_text(same, {}),
              AllOf(HasSubstr("no clear difference"), HasSubstr("are less noisy:\nbetween -0.1 %"),
                    HasSubstr("Cannot tell yet")));
  const auto json = nlohmann::json::parse(diff_json(nullptr, &same))["run"];
  EXPECT_EQ(json["by"], "all_steps");
  EXPECT_NEAR(json["undisturbed_ratio"]["value"].get<double>(), 1, 1e-9);
  EXPECT_LT(json["all_steps_ratio"]["low"].get<double>(), 0.95);
}

// The fastest steps take 7.5 % longer, and the others do not.
TEST(RunDiffText, TheFiguresAreOfTheStepsThatDecideOnTheLimit) {
  auto before = side_of({20, 20.4, 19.8, 20.1}, 1, 1e9);
  auto after = side_of({20.1, 20.3, 20, 19.9}, 1, 1e9);
  for (RunFigures& run : before) run.undisturbed = StepFigures{{16e6, 1e4}, run.all_steps.parts};
  for (RunFigures& run : after) {
    run.begin_ns += 100;
    run.undisturbed = StepFigures{{17.2e6, 1e4}, run.all_steps.parts};
  }
  const auto diff = [&](std::optional<double> limit) {
    return make_run_diff("a", "b", change_between(before, after),
                         {.slower = limit, .memory = std::nullopt});
  };
  EXPECT_THAT(run_diff_text(diff(0.05), {}),
              AllOf(HasSubstr("no clear difference"), HasSubstr("Surely not more than 5 % slower."),
                    HasSubstr("say otherwise:"), Not(HasSubstr("x slower"))));
  EXPECT_THAT(run_diff_text(diff({}), {}), HasSubstr("1.08 x slower"));
}

TEST(RunDiffText, SaysThatRunsDifferInLengthOrFailed) {
  RunDiff diff = slower({});
  EXPECT_THAT(run_diff_text(diff, {}), Not(AnyOf(HasSubstr("length"), HasSubstr("end well"))));
  diff.runs.before[0].is_whole = diff.runs.after[0].is_whole = diff.runs.after[2].is_whole = false;
  diff.runs.counts_all_groups = true;
  diff.runs.all_steps.pause_share = 0.034;
  EXPECT_THAT(run_diff_markdown(diff),
              AllOf(HasSubstr("- 1 run before and 2 runs after did not end well, or still run: "
                              "redline report says why.\n"),
                    HasSubstr("- The runs differ in length or in samples a step, so all their "
                              "steps count alike, those of a busy minute, too. The runs differ in "
                              "length: an evaluation or checkpoint more or less makes 3.4 %, which "
                              "is in the range. Give all runs the same number of steps.\n")));
  diff.runs.before[0].is_whole = true;
  diff.runs.counts_all_groups = false;
  EXPECT_THAT(run_diff_markdown(diff),
              AllOf(HasSubstr("- 2 runs after did not end well"),
                    HasSubstr("- The runs differ in length: an evaluation or checkpoint more or "
                              "less makes 3.4 %, which is in the range. Give all runs the "
                              "same number of steps.\n")));
}

DiffRow called_row(const std::string& name, std::array<double, 2> counts, std::array<int64_t, 2> ns,
                   Verdict verdict) {
  DiffRow row;
  row.name = name;
  row.before_count = counts[0];
  row.after_count = counts[1];
  row.before_ns = ns[0];
  row.after_ns = ns[1];
  row.verdict = verdict;
  return row;
}

TEST(RunDiffText, NamesTheOperatorThatChangedMost) {
  RunDiff diff = slower({});
  Diff windows;
  const DiffRow noise = called_row("aten::noise", {}, {0, 9'000'000}, Verdict::kUnclear);
  const DiffRow planted = called_row("aten::mm", {1, 2}, {2'000'000, 4'000'000}, Verdict::kSlower);
  windows.operators = {noise, planted};
  diff.windows = windows;
  EXPECT_THAT(run_diff_text(diff, {}),
              HasSubstr("Most in the operator aten::mm: +2.0 ms a step, 2 calls instead of 1."));
  diff.windows->operators[1].after_count = 1.04;
  EXPECT_THAT(run_diff_text(diff, {}), HasSubstr("aten::mm: +2.0 ms a step."));
  diff.windows->operators = {planted};
  diff.windows->operators[0].after_ns = 2'150'000;
  EXPECT_FALSE(changed_operator(diff)) << "150 us of 2 ms explain nothing";
  diff.windows->operators[0].after_ns = 2'250'000;
  EXPECT_TRUE(changed_operator(diff));
  DiffRow other;
  other.after_ns = 3'000'000;
  diff.windows->breakdown = {other};
  EXPECT_FALSE(changed_operator(diff)) << "nor 250 us of the 3 ms of the recorded steps";
  diff.windows->operators = {noise, planted};
  DiffRow whole;
  whole.before_ns = 30'000'000;
  whole.after_ns = 20'000'000;
  diff.windows->breakdown = {whole};
  EXPECT_THAT(run_diff_text(diff, {}),
              AllOf(HasSubstr("As a whole the recorded steps say otherwise: -10.0 ms "),
                    Not(HasSubstr("aten::mm"))));
}

// In a row the time of a step grows from 2 ms by `delta_ns`.
DiffRow slower_row(const std::string& name, int64_t delta_ns) {
  DiffRow row;
  row.name = name;
  row.before_ns = 2'000'000;
  row.after_ns = 2'000'000 + delta_ns;
  row.verdict = Verdict::kSlower;
  return row;
}

TEST(RunDiffText, NamesTheOperatorThatIsCalledMoreOftenEvenIfOtherWorkHidesItsTime) {
  RunDiff diff = slower({});  // by 2 ms
  Diff& windows = diff.windows.emplace();
  DiffRow called = called_row("aten::cumsum", {5, 10}, {3'000'000, 2'900'000}, Verdict::kUnclear);
  called.calls_delta_ns = 1'100'000;
  DiffRow other = slower_row("aten::mm", 1'900'000);
  other.calls_delta_ns = 990'000;
  windows.operators = {other, called};
  EXPECT_THAT(run_diff_text(diff, {}), HasSubstr("Most in the operator aten::cumsum: +1.1 ms a "
                                                 "step, 10 calls instead of 5."));
  const auto json = nlohmann::json::parse(diff_json(nullptr, &diff))["run"];
  EXPECT_EQ(json["operator"]["name"], "aten::cumsum");
  EXPECT_EQ(json["operator"]["delta_ns"], 1'100'000);
  windows.breakdown = {slower_row("cpu", -3'000'000)};
  EXPECT_EQ(changed_operator(diff)->row->name, "aten::cumsum") << "the machine was busier before";
  windows.breakdown = {};
  windows.operators[1].calls_delta_ns = 890'000;
  EXPECT_EQ(changed_operator(diff)->row->name, "aten::mm") << "990 us by calls";
  EXPECT_EQ(changed_operator(diff)->delta_ns, 990'000) << "half of the 1.76 ms that are sure";
  windows.operators[1].calls_delta_ns = 860'000;
  windows.operators[0].calls_delta_ns = 870'000;
  EXPECT_EQ(changed_operator(diff)->delta_ns, 1'900'000) << "by time: not half is by calls";
  windows.operators[1].calls_delta_ns = -1'100'000;
  EXPECT_EQ(changed_operator(diff)->row->name, "aten::mm") << "the step did not become faster";
}

TEST(RunDiffText, ARowThatTookAnothersPlaceCountsForWhatItTakesBeyondIt) {
  RunDiff diff = slower({});  // by 2 ms
  Diff& windows = diff.windows.emplace();
  DiffRow came = slower_row("aten::addmm", 13'500'000), gone = slower_row("aten::mm", -17'000'000);
  came.before_ns = gone.after_ns = 0;
  came.after_ns = 15'500'000;
  gone.before_ns = 15'000'000;
  came.verdict = Verdict::kNew;
  gone.verdict = Verdict::kGone;
  windows.operators = {came, gone, slower_row("aten::sort", 1'500'000)};
  EXPECT_EQ(changed_operator(diff)->row->name, "aten::sort");
  windows.operators.pop_back();
  EXPECT_EQ(changed_operator(diff)->delta_ns, 500'000) << "15.5 ms instead of 15 ms";
  std::swap(diff.runs.before, diff.runs.after);
  diff.runs = change_between(diff.runs.before, diff.runs.after);  // faster by 2 ms
  windows.operators[0].after_ns = 100'000;
  EXPECT_EQ(changed_operator(diff)->row->name, "aten::mm") << "what came made nothing faster";
  EXPECT_EQ(changed_operator(diff)->delta_ns, -14'900'000);
}

TEST(RunDiffText, NamesTheFirstPartThatExplainsAnything) {
  auto before = side_of({20, 20.1, 19.9}, 1, 1e9), after = side_of({30, 30.3, 29.7}, 1, 1e9);
  const auto set = [](RunFigures& run, LogPart part, double ms) {
    run.all_steps.parts[static_cast<size_t>(part)] = StepTime{ms * 1e6, 1e3};
  };
  for (RunFigures& run : before) set(run, LogPart::kForward, 1);
  for (size_t i = 0; i < after.size(); ++i) {
    after[i].begin_ns += 100;
    after[i].all_steps.parts[kLogParts] = before[i].all_steps.parts[kLogParts];
    set(after[i], LogPart::kForward, 1.5);
    set(after[i], LogPart::kDataWait, std::array{4.6, 10.0, 15.4}[i]);
  }
  const RunDiff diff = make_run_diff("a", "b", change_between(before, after), {});
  EXPECT_EQ(diff.runs.step().parts[0].part, LogPart::kForward) << "surely 0.5 ms";
  EXPECT_THAT(run_diff_text(diff, {}),
              HasSubstr("Most of it in waiting for data: +9.0 ms a step."));
}

TEST(RunDiffText, NamesTheKernelForWhichTheOperatorsWait) {
  RunDiff diff = slower({});  // by 2 ms
  Diff& windows = diff.windows.emplace();
  windows.breakdown = {slower_row("kernel", 1'900'000), slower_row("cpu", 100'000)};
  windows.kernels = {slower_row("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 1'950'000),
                     slower_row("sgemm_128x64", 1'900'000)};
  windows.operators = {slower_row("aten::_local_scalar_dense", 1'900'000)};
  const std::string sentence = "Most in the kernel sgemm_128x64: +1.9 ms a step.";
  EXPECT_THAT(run_diff_text(diff, {}), HasSubstr("\n" + sentence + "\n"));
  EXPECT_THAT(run_diff_markdown(diff), HasSubstr("- Most in the kernel sgemm\\_128x64: +1.9 ms"));
  const auto json = nlohmann::json::parse(diff_json(nullptr, &diff))["run"];
  EXPECT_EQ(json["kernel"]["name"], "sgemm_128x64");
  EXPECT_EQ(json["kernel"]["after_ns"], 3'900'000);
  EXPECT_TRUE(json["operator"].is_null());
  windows.kernels = {slower_row("a", 190'000), slower_row("b", 190'000)};
  EXPECT_THAT(run_diff_text(diff, {}), Not(HasSubstr("Most in the"))) << "10 % in none of them";
}

TEST(RunDiffText, AnOperatorThatWaitsForTheGpuIsNotNamed) {
  RunDiff diff = slower({});
  Diff& windows = diff.windows.emplace();
  windows.breakdown = {slower_row("kernel", 900'000), slower_row("cpu", 1'100'000)};
  windows.kernels = {slower_row("sgemm_128x64", 900'000)};
  windows.operators = {slower_row("aten::_local_scalar_dense", 900'000),
                       slower_row("aten::sort", 400'000)};
  windows.operators[0].waiting_delta_ns = 450'000;
  EXPECT_THAT(run_diff_text(diff, {}),
              HasSubstr("Most in the operator aten::_local_scalar_dense: +900.0 us a step."));
  windows.operators[0].waiting_delta_ns = 450'001;
  EXPECT_THAT(run_diff_text(diff, {}),
              HasSubstr("Most in the operator aten::sort: +400.0 us a step."));
  const auto json = nlohmann::json::parse(diff_json(nullptr, &diff))["run"];
  EXPECT_TRUE(json["kernel"].is_null());
  EXPECT_EQ(json["operator"]["name"], "aten::sort");
  windows.before.has_marked_steps = true;
  EXPECT_FALSE(changed_operator(diff)) << "a step beside a whole trace";
}

TEST(RunDiffText, RecordedStepsThatContradictThemselvesSaySo) {
  RunDiff diff = slower({});
  Diff& windows = diff.windows.emplace();
  windows.breakdown = {slower_row("cpu", -1'000'000)};
  windows.step = MeanDifference{.difference = 2e6, .low = 1.9e6, .high = 2.1e6, .p = 0.001};
  EXPECT_THAT(
      run_diff_markdown(diff),
      AllOf(HasSubstr("- Ranks have different numbers of steps: all -1.0 ms, the last +2.0 ms.\n"),
            Not(HasSubstr("say otherwise"))));
}

TEST(RunDiffMarkdown, WarnsLikeTheText) {
  RunDiff diff = slower({});
  Diff& windows = diff.windows.emplace();
  windows.before.has_gpu_work = windows.after.has_gpu_work = true;
  windows.before.gpu = windows.after.gpu = "NVIDIA A100";
  const std::string unknown = "Samples a step unknown: if the batch changed, steps do not compare.";
  EXPECT_THAT(run_diff_markdown(diff), Not(AnyOf(HasSubstr("GPU"), HasSubstr(unknown))));
  windows.after.gpu = "Tesla V100";
  diff.runs.basis_samples = std::nullopt;
  const std::string other = "Not the same GPU: NVIDIA A100, then Tesla V100.";
  EXPECT_THAT(run_diff_markdown(diff), HasSubstr("- " + other + "\n- " + unknown + "\n"));
  const auto step = nlohmann::json::parse(run_diff_benchmark(diff))[0];
  EXPECT_THAT(step["extra"].get<std::string>(), HasSubstr(other + "\n" + unknown));
}

TEST(RunDiffJson, HasTheFiguresAndTheVerdict) {
  const RunDiff diff = slower({.slower = 0.05, .memory = std::nullopt});
  const auto json = nlohmann::json::parse(diff_json(nullptr, &diff));
  EXPECT_EQ(json["schema"], "redline.diff/1");
  const auto& run = json["run"];
  EXPECT_NEAR(run["ratio"]["value"].get<double>(), 1.1, 1e-3);
  EXPECT_EQ(run["parts"][0]["part"], "data_wait");
  EXPECT_EQ(run["gate"]["time"], "surely_beyond");
  EXPECT_TRUE(run["gate"]["memory"].is_null());
  EXPECT_EQ(run["before"].size(), 3u);
}

TEST(RunDiffMarkdown, IsATableThatNamesCannotBreak) {
  RunDiff diff = slower({.slower = 0.05, .memory = std::nullopt});
  diff.after = "train.py `x` | y";
  const std::string text = run_diff_markdown(diff);
  EXPECT_THAT(text,
              AllOf(HasSubstr("### 1.10 x slower (+10.0 %)\n"),
                    HasSubstr("| **step** | 20.0 ms | 22.0 ms | +10.0 % |"),
                    HasSubstr("`train.py 'x' | y`"), HasSubstr("- Surely more than 5 % slower.")));
  Diff& windows = diff.windows.emplace();
  windows.breakdown = {slower_row("cpu", 2'000'000)};
  windows.operators = {slower_row("aten::_a_ *b* ~c~ [d](e) <f> &lt; `g` | \\", 1'900'000)};
  EXPECT_THAT(
      run_diff_markdown(diff),
      HasSubstr("- Most in the operator aten::\\_a\\_ \\*b\\* \\~c\\~ \\[d](e) \\<f> \\&lt; "
                "\\`g\\` \\| \\\\: +1.9 ms a step.\n"));
}

TEST(RunDiffBenchmark, IsAListOfWhatIsBetterSmaller) {
  const auto json = nlohmann::json::parse(run_diff_benchmark(slower({})));
  ASSERT_TRUE(json.is_array());
  EXPECT_EQ(json[0]["name"], "step");
  EXPECT_EQ(json[1]["name"], "step: waiting for data");
  EXPECT_EQ(json[1]["unit"], json[0]["unit"]);
}

TEST(RunDiffBenchmark, SaysWhichStepsDecidedBesideFiguresOfAllSteps) {
  const RunDiff diff = slower_in_noise(1.05);
  ASSERT_TRUE(diff.runs.is_by_undisturbed());
  const auto step = nlohmann::json::parse(run_diff_benchmark(diff))[0];
  EXPECT_NEAR(step["value"].get<double>(), diff.runs.all_steps.after_ns * 1e-3 / 32, 1e-6);
  EXPECT_THAT(step["extra"].get<std::string>(),
              AllOf(HasSubstr("The verdict is by the undisturbed steps, among the fastest quarter "
                              "of each run: +5.0 %, between "),
                    HasSubstr("Value and range are of all steps;"),
                    Not(HasSubstr("These are the undisturbed"))));
}

TEST(RunDiffBenchmark, ASeriesDoesNotJumpWithTheBatchOfTheBase) {
  const auto step_of = [](double step_ms, std::optional<double> samples) {
    auto before = side_of({step_ms}, 1, 1e9), after = side_of({22}, 1, 1e9);
    before[0].samples = samples;
    const RunDiff diff = make_run_diff("a", "b", change_between(before, after), {});
    return nlohmann::json::parse(run_diff_benchmark(diff))[0];
  };
  for (const double samples : {32, 64}) {
    const auto step = step_of(samples, samples);  // a millisecond a sample
    EXPECT_EQ(step["unit"], "ms per 1,000 samples");
    EXPECT_NEAR(step["value"].get<double>(), 22 * 1000 / 32.0, 1e-6);
    EXPECT_THAT(step["extra"].get<std::string>(), HasSubstr("before: 1,000 ms per 1,000 samples"));
  }
  EXPECT_EQ(step_of(20, std::nullopt)["unit"], "ms");
  EXPECT_NEAR(step_of(20, std::nullopt)["value"].get<double>(), 22, 1e-6);
}

}  // namespace
}  // namespace redline::trace
