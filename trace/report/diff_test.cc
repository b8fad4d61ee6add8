#include "trace/report/diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/terminal.h"
#include "tests/parsed_trace.h"
#include "trace/read/reader.h"
#include "trace/report/diff_words.h"
#include "trace/report/report_figures.h"
#include "trace/report/run_diff.h"

namespace redline::trace {
namespace {

using namespace redline::testing;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

// Steps of a CPU job in which `kernels` of the given lengths run.
struct Steps {
  std::vector<int64_t> step_ns;
  std::vector<std::pair<std::string, std::vector<int64_t>>> kernels = {};
  std::string top = {};
  std::vector<int64_t> waits_ns = {};  // for the GPU, after the launches
};

std::shared_ptr<const Trace> trace_of(const Steps& steps) {
  TraceText text;
  if (!steps.top.empty()) text.top(steps.top);
  int64_t begin_ns = 0;
  uint32_t id = 0;
  for (size_t i = 0; i < steps.step_ns.size(); ++i) {
    const int64_t end_ns = begin_ns + steps.step_ns[i];
    text.step(static_cast<int>(i), begin_ns, end_ns).cpu_op("aten::mm", begin_ns, end_ns);
    int64_t at_ns = begin_ns + 1000;
    for (const auto& [name, lengths] : steps.kernels) {
      text.runtime("cudaLaunchKernel", at_ns, at_ns + 10, ++id);
      text.kernel(name, at_ns + 100, at_ns + 100 + lengths[i], on_stream(7, id));
      at_ns += 100 + lengths[i];
    }
    if (!steps.waits_ns.empty()) {
      const int64_t done_ns = at_ns + steps.waits_ns[i];
      text.runtime("cudaStreamSynchronize", at_ns, done_ns);
      text.slice("cuda_driver", "cuStreamSynchronize", at_ns + 10, done_ns - 10);
    }
    begin_ns = end_ns;
  }
  return *parse_trace("test.json", text.str());
}

// A rank's steps, each with an operator in its first half.
std::shared_ptr<const Trace> recording(int rank, int64_t begin_ns,
                                       const std::vector<int64_t>& step_ns) {
  TraceText text;
  text.rank(rank, 2);
  for (const int64_t length_ns : step_ns) {
    text.step(0, begin_ns, begin_ns + length_ns);
    text.cpu_op("aten::mm", begin_ns, begin_ns + length_ns / 2);
    begin_ns += length_ns;
  }
  return *parse_trace("test.json", text.str());
}

Diff diff_of(const Steps& before, const Steps& after) {
  return compare_runs({trace_of(before)}, {trace_of(after)});
}

const DiffRow& row_of(const std::vector<DiffRow>& rows, const std::string& name) {
  for (const DiffRow& row : rows) {
    if (row.name == name) return row;
  }
  static const DiffRow kNone;
  ADD_FAILURE() << "no row " << name;
  return kNone;
}

TEST(Diff, NothingIsOneTimesSlower) {
  const Steps steps{{100 * kMs}};
  const std::string text = diff_text(diff_of(steps, steps), {}, {});
  EXPECT_THAT(text, HasSubstr("as fast as before"));
  EXPECT_THAT(text, Not(HasSubstr("1.00 x")));
}

TEST(Diff, TracesWithoutMarkedStepsAreComparedWholeAndSaySo) {
  TraceText shorter, longer;
  shorter.cpu_op("aten::mm", 0, 80 * kMs);
  longer.cpu_op("aten::mm", 0, 100 * kMs);
  const Diff diff =
      compare_runs({*parse_trace("a.json", longer.str())}, {*parse_trace("b.json", shorter.str())});
  const std::string text = diff_text(diff, {}, {});
  EXPECT_THAT(text, AllOf(HasSubstr("1 rank · no marked steps"), HasSubstr("LENGTH "),
                          HasSubstr("1.25 x faster"), HasSubstr("TIME OF THE TRACE"),
                          HasSubstr("no marked steps on a side: nobody knows")));
  EXPECT_THAT(text, Not(AnyOf(HasSubstr("STEP"), HasSubstr("1 step"))));
  const Steps one{{100 * kMs}};
  EXPECT_EQ(words_of(diff_of(one, one)).basis, "a step");
  EXPECT_EQ(words_of(diff).basis, "the trace");
}

TEST(Diff, AStepBesideAWholeTraceGetsNoVerdict) {
  const auto marked = trace_of({{10 * kMs, 10 * kMs}});
  TraceText text;
  text.cpu_op("aten::mm", 0, 20 * kMs);
  const auto whole = *parse_trace("b.json", text.str());
  const Diff diff = compare_runs({marked}, {whole});
  EXPECT_EQ(diff.before.step_ns, 10 * kMs);
  EXPECT_EQ(diff.after.step_ns, 20 * kMs);
  EXPECT_EQ(diff.speedup(), std::nullopt);
  EXPECT_THAT(
      diff_text(diff, {}),
      AllOf(ContainsRegex("LENGTH +10.0 ms .* 20.0 ms +no verdict"),
            HasSubstr("one side marks no steps: a step is compared with a whole trace\n"),
            HasSubstr("TIME OF A STEP AND A TRACE"), ContainsRegex("cpu [^\n]* [+]10.0 ms\n"),
            Not(AnyOf(HasSubstr("slower"), HasSubstr("nobody knows")))));
  EXPECT_EQ(words_of(compare_runs({whole}, {marked})).basis, "a trace and a step");
  const auto json = nlohmann::json::parse(diff_json(&diff, nullptr));
  EXPECT_TRUE(json["speedup"].is_null());
  EXPECT_EQ(json["before"]["steps"]["marked"], true);
  EXPECT_EQ(json["after"]["steps"]["marked"], false);
  const Traces recordings = {whole, whole};
  EXPECT_EQ(compare_runs({marked}, recordings).step, std::nullopt);
}

TEST(Diff, WhereTheLastStepsSayOtherwiseThanAllThereIsNoVerdict) {
  const auto of = [](std::vector<int64_t> step_us) {
    for (int64_t& length : step_us) length *= kUs;
    return step_us;
  };
  const Traces before = {recording(0, 0, of({40'000, 40'000, 10'000, 10'100})),
                         recording(1, 0, of({10'000, 10'100}))};
  const Traces after = {recording(0, 0, of({12'000, 12'100})),
                        recording(1, 0, of({12'000, 12'100}))};
  const Diff diff = compare_runs(before, after);
  EXPECT_EQ(diff.before.step_ns, 17'537'500) << "rank 0 takes 25.025 ms, rank 1 10.05 ms";
  EXPECT_EQ(diff.after.step_ns, 12'050'000);
  EXPECT_NEAR(diff.step->difference, 2e6, 1);
  EXPECT_TRUE(diff.step->is_clear());
  EXPECT_EQ(diff.speedup(), std::nullopt);
  EXPECT_EQ(row_of(diff.operators, "aten::mm").verdict, Verdict::kUnknown);
  EXPECT_THAT(
      diff_text(diff, {}),
      AllOf(HasSubstr("no verdict\n  ranks have different numbers of steps: all -5.5 ms, the last "
                      "+2.0 ms\n"),
            Not(AnyOf(HasSubstr("faster"), HasSubstr("certainty"), HasSubstr("100.0 %")))));
  // Where both say the same, the different numbers do not matter.
  EXPECT_THAT(diff_text(compare_runs({before[0], before[1]}, {recording(0, 0, of({5'000, 5'100})),
                                                              recording(1, 0, of({5'000, 5'100}))}),
                        {}),
              HasSubstr("3.47 x faster\n  change -5.0 ms, with 95 % certainty"));
}

TEST(Diff, PartsHaveSharesOnlyOfAChangeThatIsOne) {
  const auto text_of = [](const Steps& before, const Steps& after) {
    return diff_text(diff_of(before, after), {}, {});
  };
  EXPECT_THAT(text_of({{100 * kMs}}, {{80 * kMs}}),
              ContainsRegex("cpu [^\n]* -20.0 ms +100.0 %\n"));
  EXPECT_THAT(text_of({{100 * kMs, 140 * kMs, 70 * kMs}}, {{90 * kMs, 130 * kMs, 60 * kMs}}),
              ContainsRegex("cpu [^\n]* -10.0 ms\n"))
      << "of noise";
  const auto of = [](int64_t step_ns, int64_t kernel_ns) {
    return Steps{{step_ns}, {{"gemm", {kernel_ns}}}};
  };
  // The kernels take 10 ms more, all else 10 ms less but for 1 us, which is no whole.
  EXPECT_THAT(text_of(of(100 * kMs, 10 * kMs), of(100 * kMs + kUs, 20 * kMs)),
              AllOf(ContainsRegex("kernel [^\n]* [+]10.0 ms\n"), Not(HasSubstr(" %"))));
  EXPECT_THAT(text_of(of(100 * kMs, 10 * kMs), of(101 * kMs, 20 * kMs)),
              ContainsRegex("kernel [^\n]* [+]10.0 ms +1000.0 %\n"));
}

TEST(Diff, SaysWhyRowsOfTheGpuDoNotCompare) {
  Diff diff;
  diff.before.gpu = "NVIDIA A100";
  diff.before.has_gpu_work = diff.after.has_gpu_work = true;
  EXPECT_EQ(words_of(diff).other_gpu, "") << "the name after is not known";
  diff.after.gpu = "Tesla V100";
  EXPECT_EQ(words_of(diff).other_gpu, "not the same GPU: NVIDIA A100, then Tesla V100");
  const Steps with{{kMs, kMs}, {{"gemm", {kUs, kUs}}}}, without{{kMs, kMs}};
  EXPECT_THAT(
      diff_text(diff_of(with, without), {}),
      HasSubstr("        no GPU work was recorded in the run after: GPU rows do not compare\n"));
  EXPECT_THAT(diff_text(diff_of(without, with), {}),
              HasSubstr("no GPU work was recorded in the run before: GPU rows do not compare\n"));
  EXPECT_EQ(words_of(diff_of(without, without)).other_gpu, "");
}

TEST(Diff, TellsHowMuchOfAnOperatorsChangeIsWaitingForTheGpu) {
  const std::vector<std::pair<std::string, std::vector<int64_t>>> kernels = {{"k", {kUs, kUs}}};
  const Diff diff = diff_of({{10 * kMs, 10 * kMs}, kernels, {}, {4 * kMs, 4 * kMs}},
                            {{13 * kMs, 13 * kMs}, kernels, {}, {6 * kMs, 6 * kMs}});
  const DiffRow& row = row_of(diff.operators, "aten::mm");
  EXPECT_EQ(row.delta_ns(), 3 * kMs);
  EXPECT_EQ(row.waiting_delta_ns, 2 * kMs);
}

TEST(Diff, AChangeBeyondTheNoiseOfTheStepsIsClear) {
  const Diff diff = diff_of({{100 * kMs, 101 * kMs, 99 * kMs, 100 * kMs}},
                            {{80 * kMs, 81 * kMs, 79 * kMs, 80 * kMs}});
  EXPECT_DOUBLE_EQ(*diff.speedup(), 1.25);
  ASSERT_TRUE(diff.step);
  EXPECT_TRUE(diff.step->is_clear());
  EXPECT_LT(diff.step->high, 0);
  EXPECT_EQ(diff.step_delta_ns(), -20 * kMs);
  EXPECT_THAT(diff_text(diff, {}), HasSubstr("1.25 x faster"));
}

TEST(Diff, EveryStepOfEveryRecordingIsInTheMeans) {
  const Traces before = {recording(0, 0, {40 * kMs, 10 * kMs, 10 * kMs, 10 * kMs, 10 * kMs}),
                         recording(0, kMs * 1000, {10 * kMs}),
                         recording(1, 0, {40 * kMs, 10 * kMs})};
  const Traces after = {recording(0, 0, {}), recording(1, 0, {10 * kMs})};
  EXPECT_EQ(mean_step(make_report(before)).mean_ns, 20 * kMs);
  EXPECT_EQ(mean_step(make_report(after)).mean_ns, 10 * kMs);
  const Diff diff = compare_runs(before, after);
  EXPECT_EQ(diff.before.step_ns, 20 * kMs) << "rank 0 takes 15 ms, rank 1 25 ms";
  EXPECT_EQ(diff.before.step_count, 2) << "as many as each rank has";
  EXPECT_EQ(diff.after.step_ns, 10 * kMs) << "a rank without a step says nothing of steps";
  int64_t parts_ns = 0;
  for (const DiffRow& row : diff.breakdown) parts_ns += row.before_ns;
  EXPECT_NEAR(static_cast<double>(parts_ns), static_cast<double>(diff.before.step_ns), 8);
  EXPECT_EQ(row_of(diff.operators, "aten::mm").before_ns, 10 * kMs);

  const Traces windows = {recording(0, 0, {kMs, kMs, kMs}), recording(0, kMs * 10, {kMs, kMs, kMs}),
                          recording(0, kMs * 20, {kMs})};
  EXPECT_EQ(compare_runs(windows, windows).before.step_count, 7);
}

TEST(Diff, AChangeWithinTheNoiseOfTheStepsIsNot) {
  const Diff diff = diff_of({{100 * kMs, 140 * kMs, 70 * kMs}}, {{90 * kMs, 130 * kMs, 60 * kMs}});
  EXPECT_FALSE(diff.step->is_clear());
  EXPECT_THAT(diff_text(diff, {}), HasSubstr("no clear difference"));
  EXPECT_THAT(diff_text(diff, {}), Not(HasSubstr("faster")));
}

TEST(Diff, OneStepTellsNoNoise) {
  const Diff diff = diff_of({{100 * kMs}}, {{80 * kMs}});
  EXPECT_FALSE(diff.step);
  EXPECT_DOUBLE_EQ(*diff.speedup(), 1.25);
  EXPECT_THAT(diff_text(diff, {}), HasSubstr("one step on a side"));
  EXPECT_EQ(row_of(diff.operators, "aten::mm").verdict, Verdict::kUnknown);
}

TEST(Diff, KernelsAreJudgedByTheirSumsOverSteps) {
  const std::vector<int64_t> steps(4, 100 * kMs);
  const Diff diff = diff_of({steps,
                             {{"grows", {5 * kMs, 6 * kMs, 5 * kMs, 6 * kMs}},
                              {"wobbles", {1 * kMs, 9 * kMs, 1 * kMs, 9 * kMs}},
                              {"goes", {kMs, kMs, kMs, kMs}}}},
                            {steps,
                             {{"grows", {15 * kMs, 16 * kMs, 15 * kMs, 16 * kMs}},
                              {"wobbles", {2 * kMs, 10 * kMs, 2 * kMs, 10 * kMs}},
                              {"comes", {kMs, kMs, kMs, kMs}}}});
  EXPECT_EQ(row_of(diff.kernels, "grows").verdict, Verdict::kSlower);
  EXPECT_EQ(row_of(diff.kernels, "grows").delta_ns(), 10 * kMs);
  EXPECT_EQ(row_of(diff.kernels, "wobbles").verdict, Verdict::kUnclear);
  EXPECT_EQ(row_of(diff.kernels, "goes").verdict, Verdict::kGone);
  EXPECT_EQ(row_of(diff.kernels, "comes").verdict, Verdict::kNew);
  EXPECT_EQ(diff.kernels.front().name, "grows") << "the largest change first";
  const std::string text = diff_text(diff, {});
  EXPECT_THAT(text, HasSubstr("1 slower, 1 new, 1 gone, 1 unclear"));
  EXPECT_THAT(text, HasSubstr("~+1.0 ms"));
}

TEST(Diff, KnowsWhatMoreCallsCostWhereEachStepMakesAsMany) {
  const std::vector<int64_t> steps(3, 100 * kMs);
  const std::vector<int64_t> once = {9 * kMs, 60 * kMs, 9 * kMs},
                             again = {8 * kMs, 9 * kMs, 7 * kMs};
  const Diff diff = diff_of({steps, {{"k", once}, {"same", again}, {"goes", {kMs, kMs, kMs}}}},
                            {steps, {{"k", again}, {"k", again}, {"same", once}}});
  EXPECT_EQ(row_of(diff.kernels, "k").calls_delta_ns, 8 * kMs) << "other work slowed one step";
  EXPECT_EQ(row_of(diff.kernels, "goes").calls_delta_ns, std::nullopt);
  EXPECT_EQ(row_of(diff.kernels, "same").calls_delta_ns, std::nullopt);
  const std::vector<int64_t> brief(3, kMs);
  const Diff unlike = diff_of({steps, {{"k", again}}}, {steps, {{"k", again}, {"k", brief}}});
  EXPECT_EQ(row_of(unlike.kernels, "k").calls_delta_ns, std::nullopt) << "8 and 1 ms";

  TraceText varying;
  varying.step(0, 0, 10 * kMs).step(1, 10 * kMs, 20 * kMs);
  for (const int64_t ms : {1, 2, 11}) varying.cpu_op("aten::mm", ms * kMs, ms * kMs + kUs);
  const Traces once_a_step = {recording(0, 0, {10 * kMs, 10 * kMs})};
  const Diff some = compare_runs(once_a_step, {*parse_trace("test.json", varying.str())});
  EXPECT_EQ(row_of(some.operators, "aten::mm").after_count, 1.5);
  EXPECT_EQ(row_of(some.operators, "aten::mm").calls_delta_ns, std::nullopt);

  const std::string ten = R"("redline": {"samples_per_step": 10})";
  const std::string twenty = R"("redline": {"samples_per_step": 20})";
  const Diff other_batch = diff_of({steps, {}, ten}, {steps, {}, twenty});
  EXPECT_EQ(row_of(other_batch.operators, "aten::mm").calls_delta_ns, std::nullopt);
}

TEST(Diff, ACallCostsWhatItTakesWithoutItsWaitForTheGpu) {
  const auto items = [](int calls, int64_t wait_ns) {
    TraceText text;
    for (int64_t step = 0; step < 2; ++step) {
      const int64_t begin_ns = step * 100 * kMs;
      text.step(static_cast<int>(step), begin_ns, begin_ns + 100 * kMs);
      for (int64_t call = 0; call < calls; ++call) {
        const int64_t at_ns = begin_ns + (1 + 20 * call) * kMs;
        text.cpu_op("aten::item", at_ns, at_ns + wait_ns + 10 * kUs);
        text.runtime("cudaStreamSynchronize", at_ns + 5 * kUs, at_ns + 5 * kUs + wait_ns);
      }
    }
    return *parse_trace("test.json", text.str());
  };
  const Diff diff = compare_runs({items(1, 10 * kMs)}, {items(2, 5 * kMs)});
  EXPECT_EQ(row_of(diff.operators, "aten::item").calls_delta_ns, 10 * kUs);
}

TEST(Diff, WhereTheBatchChangedTheSameSamplesAreCompared) {
  const auto samples = [](int count) {
    return fmt::format(R"("redline": {{"samples_per_step": {}}})", count);
  };
  const Diff diff =
      diff_of({{100 * kMs, 100 * kMs}, {}, samples(10)}, {{150 * kMs, 150 * kMs}, {}, samples(20)});
  EXPECT_EQ(diff.basis_samples, 10);
  EXPECT_NEAR(*diff.speedup(), 4.0 / 3, 1e-9);
  EXPECT_NEAR(diff.step->difference, -25.0 * kMs, 1);
  EXPECT_EQ(row_of(diff.operators, "aten::mm").after_ns, 75 * kMs);
  EXPECT_THAT(diff_text(diff, {}), HasSubstr("TIME OF 10 SAMPLES"));
  EXPECT_THAT(diff_text(diff, {}), Not(HasSubstr("unknown")));
  EXPECT_THAT(diff_text(diff_of({{kMs, kMs}, {}, samples(1)}, {{kMs, kMs}, {}, samples(99)}), {}),
              AllOf(HasSubstr("TIME OF A SAMPLE"), HasSubstr("1→<0.1")));
}

TEST(Diff, LowRatesAndSharesOfASampleAreNotRounded) {
  const auto of = [](int64_t step_ns, const char* samples) {
    return Steps{
        {step_ns, step_ns}, {}, fmt::format(R"("redline": {{"samples_per_step": {}}})", samples)};
  };
  const auto text_of = [&](const Steps& before, const Steps& after) {
    return diff_text(diff_of(before, after), {}, {});
  };
  EXPECT_THAT(text_of(of(12'000 * kMs, "4"), of(9'000 * kMs, "4")),
              ContainsRegex("SAMPLES a second +0.333 .* 0.444 +1.33 x faster"));
  EXPECT_THAT(
      text_of(of(1'000 * kMs, "0.5"), of(1'000 * kMs, "1")),
      AllOf(ContainsRegex("SAMPLES a step +0.500 .* 1 "), HasSubstr("TIME OF 0.500 SAMPLES")));
}

TEST(Diff, WhereSamplesAreUnknownItSaysWhatThatMeans) {
  EXPECT_THAT(diff_text(diff_of({{kMs, kMs}}, {{9 * kMs, 9 * kMs}}), {}),
              AllOf(HasSubstr("9.00 x slower"), HasSubstr("samples a step unknown: if the batch")));
}

TEST(Diff, JsonHasItsFields) {
  const Diff diff = diff_of({{100 * kMs, 101 * kMs}, {{"k", {kMs, kMs}}}}, {{80 * kMs, 81 * kMs}});
  const auto json = nlohmann::json::parse(diff_json(&diff, nullptr));
  EXPECT_TRUE(json["run"].is_null());
  EXPECT_EQ(json["schema"], "redline.diff/1");
  EXPECT_EQ(json["step"]["delta_ns"], -20 * kMs);
  EXPECT_EQ(json["step"]["verdict"], "faster");
  EXPECT_EQ(json["kernels"][0]["verdict"], "gone");
  EXPECT_TRUE(json.contains("collectives"));
  EXPECT_TRUE(json.contains("copies"));
}

TEST(Diff, RealRunsFitIn80Columns) {
  struct Pair {
    const char* before;
    const char* after;
  };
  for (const Pair& pair : {Pair{"diff_before_a100_rank3", "diff_after_v100_rank1"},
                           Pair{"resnet50_v100_workers0", "resnet50_v100_workers4"},
                           Pair{"fsdp_sampled_rank0", "fsdp_sampled_rank1"}}) {
    const auto before = real_trace(pair.before), after = real_trace(pair.after);
    if (!before || !after) GTEST_SKIP() << "no shared traces here";
    const Diff diff = compare_runs({before}, {after});
    std::istringstream text(diff_text(diff, {}, {TextScope::kAll}));
    for (std::string line; std::getline(text, line);) EXPECT_LE(columns(line), 80) << line;
  }
}

// Two ranks of the same run differ only by noise.
TEST(Diff, RanksOfOneRunAreNotTold) {
  const auto first = real_trace("fsdp_sampled_rank0"), second = real_trace("fsdp_sampled_rank1");
  if (!first || !second) GTEST_SKIP() << "no shared traces here";
  const Diff diff = compare_runs({first}, {second});
  EXPECT_FALSE(diff.step->is_clear());
}

}  // namespace
}  // namespace redline::trace
