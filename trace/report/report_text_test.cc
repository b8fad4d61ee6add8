#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/terminal.h"
#include "tests/parsed_report.h"
#include "tests/paths.h"
#include "tests/trace_text.h"
#include "trace/analysis/run_tables.h"
#include "trace/read/reader.h"
#include "trace/report/hang_words.h"
#include "trace/report/report.h"
#include "trace/report/report_figures.h"
#include "trace/report/report_words.h"
#include "trace/report/what_if_report.h"

namespace redline::trace {
namespace {

using namespace redline::testing;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string text_of(const std::vector<std::string>& texts, const TextScope& scope = {}) {
  return report_text(report_on(texts), {}, scope);
}

std::vector<std::string> notes_on(const std::vector<std::string>& texts) {
  return trace_notes(report_on(texts));
}

std::string rank(int number, const char* kernel) {
  return TraceText()
      .rank(number, 2)
      .step(0, 0, 1'000'000)
      .cpu_op("aten::mm", 0, 1000)
      .runtime("cudaLaunchKernel", 100, 200, 1)
      .kernel(kernel, 1000, 900'000, on_stream(7, 1))
      .str();
}

std::string of_a_ring(int number) {
  return TraceText()
      .rank(number, 2)
      .step(7, 0, 1'000'000)
      .cpu_op("aten::mm", 0, 1000)
      .annotation("unfinished ProfilerStep#8", 1'000'000, 5'000'000)
      .top(R"("redline": {"reason": "step 8 has not ended after <4 ms>", "ring": {}})")
      .str();
}

TEST(TextReport, WithoutMarkedStepsNothingIsSaidOfSteps) {
  const auto loading = [](bool marks_steps) {
    TraceText text;
    if (marks_steps) text.step(1, 0, 1'000'000);
    text.cpu_op("aten::relu", 0, 100'000).cpu_op("aten::relu", 600'000, 1'000'000);
    text.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 100'000,
                    600'000);
    return text_of({text.str()});
  };
  EXPECT_THAT(loading(true), HasSubstr("1 rank · 1 step · 4 events"));
  EXPECT_THAT(loading(true), HasSubstr("DataLoader: training waits 500.0 us a step "));
  EXPECT_THAT(loading(false), HasSubstr("1 rank · no marked steps · 3 events"));
  EXPECT_THAT(loading(false), HasSubstr("DataLoader: training waits 500.0 us "));
  EXPECT_THAT(loading(false), Not(HasSubstr(" a step")));
}

TEST(TextReport, NoAdviceIsOnTheWaitOfAJobThatHungOrFailed) {
  const auto rules_of = [](const std::vector<HangTable>& tables) {
    Report report = report_on({rank(0, "k")});
    report.findings.clear();
    for (const char* rule : {"straggler", "communication", "out_of_memory"}) {
      report.findings.emplace_back().rule = rule;
    }
    report.traces.front().findings = report.findings;
    report.run.emplace().findings.resize(2);
    report.run->findings[0].cause = RunCause::kDied;
    add_hang(report, {}, tables);
    EXPECT_EQ(report.traces.front().findings.size(), report.findings.size());
    std::string rules(without_findings(report));
    for (const Finding& finding : report.findings) rules += ", " + finding.rule;
    if (report.run->findings.size() == 2) rules += ", died";
    return rules;
  };
  std::vector<HangTable> tables(2);
  for (HangTable& table : tables) {
    table.rank = static_cast<int>(&table - tables.data());
    table.world_size = 2;
    table.groups = {{"0", {0, 1}, 0}};
    table.collectives = {{"0", 1, "all_reduce", "[[8]]", "Float", true, 0}};
  }
  EXPECT_EQ(rules_of(tables),
            "Nothing that the rules know of., straggler, communication, out_of_memory, died")
      << "nobody waits";
  tables[0].collectives.push_back({"0", 2, "all_reduce", "[[8]]", "Float", false, 0});
  EXPECT_EQ(rules_of(tables), "The hang, which no advice cures.");
  tables[1].error = "ValueError: no such file";
  for (HangTable& table : tables) table.state = ThreadState::kGone;
  EXPECT_EQ(rules_of(tables), "Nothing that the rules know of., out_of_memory, died");
}

TEST(TextReport, DroppedEventsAreCountedAndTheirRanksNamed) {
  const auto losing = [](int events) {
    return TraceText()
        .cpu_op("aten::mm", 0, 1000)
        .top(fmt::format(R"("redline": {{"dropped": {}}})", events))
        .str();
  };
  // CUPTI's: of a refused buffer at least one record is lost, unknown ones are another tool's.
  const std::string of_gpu =
      TraceText()
          .cpu_op("aten::mm", 0, 1000)
          .top(R"("redline": {"dropped": 1, "gpu": {"dropped": 2, "buffers_refused": 3, )"
               R"("truncated": 4, "other_clock": 5, "unknown": 60, "incomplete": 70}})")
          .str();
  using ::testing::Contains;
  EXPECT_THAT(notes_on({of_gpu}),
              Contains("dropped 15 events while recording rank 0: all figures lack them"));
  EXPECT_THAT(notes_on({rank(0, "k"), losing(1)}),
              Contains("dropped 1 event while recording rank 1: all figures lack them"));
  const std::vector<std::string> all = {rank(0, "k"), losing(7), losing(8), of_gpu};
  EXPECT_THAT(notes_on(all), Contains("dropped 30 events while recording ranks 1, 2, 3: all "
                                      "figures lack them"));
  EXPECT_THAT(text_of(all),
              HasSubstr("! note     dropped 30 events while recording ranks 1, 2, 3: all"));
  EXPECT_THAT(notes_on({rank(0, "k"), rank(1, "k")}), ::testing::IsEmpty());
}

TEST(Reports, OfSeveralRanksInOneFileSayOnceThatTheyAreMixed) {
  Report report = report_on({rank(0, "k")});
  report.traces[0].facts.merged_ranks = 1;
  EXPECT_THAT(trace_notes(report), ::testing::IsEmpty());
  report.traces[0].facts.merged_ranks = 2;
  EXPECT_THAT(trace_notes(report),
              ::testing::ElementsAre("2 ranks in one file: steps and sums mix them; give their "
                                     "folder instead"));
  EXPECT_THAT(report_text(report, {}), HasSubstr("! note     2 ranks in one file: steps and sums"));
  const std::string page = report_html(report);
  EXPECT_EQ(page.find(" in one file"), page.rfind(" in one file"));
  EXPECT_THAT(page, HasSubstr("2 ranks in one file: steps and sums mix them"));
}

// As SGLang merges the files of its ranks.
TEST(Reports, OfProcessesThatAnotherToolMergedSayThatTheyAreMixed) {
  TraceText text;
  for (const char* pid : {R"("[TP00] 9")", R"("[TP01] 9")"}) {
    text.slice("cuda_runtime", "cudaLaunchKernel", 100, 200, {.pid = pid, .correlation = 1});
  }
  text.kernel("k", 300, 400, {.pid = R"("[TP00] 0")", .tid = "7", .correlation = 1});
  const Report report = report_on({text.str()});
  EXPECT_THAT(trace_notes(report),
              ::testing::ElementsAre("runtime calls of 2 processes in one trace: steps and sums "
                                     "mix them; give each process's own trace instead"));
  EXPECT_EQ(nlohmann::json::parse(report_json(report))["traces"][0]["merged_ranks"], 2);
  EXPECT_EQ(report.traces[0].launches, std::nullopt) << "whose kernel it is nobody knows";
  EXPECT_THAT(notes_on({rank(0, "k"), text.str()}),
              ::testing::Contains(HasSubstr("2 processes in one trace of rank 1: steps")));
}

// PIDs that gain a digit: by name, the older run of rank 1 came last, and that of rank 0 did not.
TEST(TextReport, RanksAreComparedByTheirLastTracesInTime) {
  const auto trace_of = [](int number, const char* pid, int64_t begin_ns, int64_t step_ns) {
    TraceText text;
    const Row row{.pid = pid};
    text.rank(number, 2).slice("cpu_op", "aten::mm", begin_ns, begin_ns + step_ns, row);
    text.slice("user_annotation", "ProfilerStep#0", begin_ns, begin_ns + step_ns, row);
    return *parse_trace(fmt::format("run/host_{}.pt.trace.json", pid), text.str());
  };
  const auto report_of = [&](const char* later) {
    std::vector<RankSummary> ranks;
    for (const auto& trace :
         {trace_of(0, "999", 0, 2'000'000), trace_of(1, "1000", 0, 2'000'000),
          trace_of(0, later, 9'000'000, 1'000'000), trace_of(1, later, 9'000'000, 1'000'000)}) {
      ranks.push_back(analyze(trace));
    }
    return make_report(std::move(ranks));
  };
  const Report report = report_of("1500");
  ASSERT_TRUE(report.comparison);
  EXPECT_FALSE(report.comparison->straggler);
  for (const RankTime& time : report.comparison->times) EXPECT_EQ(time.step_ns, 1'000'000);
  EXPECT_THAT(report_text(report, {}),
              HasSubstr("! note     ranks 0, 1 were recorded by several processes"));
  EXPECT_THAT(report_html(report), HasSubstr("Ranks 0, 1 were recorded by several processes"));
  const auto json = nlohmann::json::parse(report_json(report));
  EXPECT_EQ(json["ranks_of_several_processes"], nlohmann::json({0, 1}));
}

// A process without a process group names no rank.
TEST(TextReport, TheWindowsOfOneProcessAreOneRank) {
  const auto window_of = [](const char* pid, int steps, int64_t begin_ns, int64_t step_ns) {
    TraceText text;
    const Row row{.pid = pid};
    text.top(R"("host_name": "node")");
    text.slice("cpu_op", "aten::mm", begin_ns, begin_ns + steps * step_ns, row);
    for (int step = 0; step < steps; ++step, begin_ns += step_ns) {
      text.slice("user_annotation", fmt::format("ProfilerStep#{}", step), begin_ns,
                 begin_ns + step_ns, row);
    }
    return *parse_trace(fmt::format("run/node_{}.{}.pt.trace.json", pid, begin_ns), text.str());
  };
  const auto first = window_of("8", 3, 0, 1'000'000);
  const Report one = make_report({first, window_of("8", 1, 9'000'000, 5'000'000)});
  EXPECT_EQ(one.rank_count, 1);
  EXPECT_FALSE(one.comparison);
  EXPECT_EQ(one.compared, std::vector<size_t>{1});
  EXPECT_EQ(mean_step(one).mean_ns, 2'000'000) << "each step counts the same";
  EXPECT_EQ(mean_step(one).deviation_ns, 1'732'051) << "the windows differ, not their steps";
  EXPECT_THAT(report_text(one, {}), HasSubstr("1 rank · 4 steps"));
  EXPECT_EQ(make_report({first, window_of("9", 1, 9'000'000, 5'000'000)}).rank_count, 2);
}

std::string without_gpu_records(int number, const char* call, const char* top) {
  return TraceText()
      .rank(number, 2, "nccl")
      .top(top)
      .step(0, 0, 1'000'000)
      .cpu_op("aten::mm", 0, 600'000,
              {.args = R"("Input Dims": [[64, 64], [64, 64]], "Input type": ["float", "float"])"})
      .runtime(call, 100, 200, 1)
      .str();
}

TEST(TextReport, AGpuWhoseWorkIsNotRecordedIsNoCpu) {
  const auto header_of = [](const char* call, const char* top = R"("x": 1)") {
    return lines_of(text_of({without_gpu_records(0, call, top)}))[1];
  };
  constexpr const char* kLacking = "GPU work not recorded · nccl";
  for (const char* call : {"cudaLaunchKernel", "cudaMemcpyAsync", "hipMemsetAsync"}) {
    EXPECT_THAT(header_of(call), HasSubstr(kLacking)) << call;
  }
  // torch.profiler calls these in any job on a machine with a GPU, pinned memory is allocated so.
  for (const char* call : {"cudaDeviceSynchronize", "cudaGetDeviceCount", "cudaHostAlloc"}) {
    EXPECT_THAT(header_of(call, R"("deviceProperties": [{"id": 0, "name": "H100"}])"),
                HasSubstr("CPU only · nccl"))
        << call;
  }
  for (const char* key : {"off", "off_after"}) {
    const std::string top = fmt::format(R"("redline": {{"gpu": {{"{}": "only <root>"}}}})", key);
    EXPECT_THAT(header_of("cudaGetDevice", top.c_str()), HasSubstr(kLacking)) << key;
  }
  const std::string text = text_of(
      {without_gpu_records(0, "cudaGetDevice", R"("redline": {"gpu": {"off": "only root may"}})")});
  EXPECT_THAT(text, HasSubstr("! note     GPU work was not recorded (only root may): times are"));
  EXPECT_THAT(text, Not(HasSubstr("ROOFLINE")));
  EXPECT_THAT(text, HasSubstr("Most rules need to know what the GPU did."));
  EXPECT_THAT(text, HasSubstr("aten::mm"));
}

TEST(TextReport, RowsOfTheRooflineSayWhoseTheyAre) {
  const auto rank = [](int number) {
    return TraceText()
        .rank(number, 2, "nccl")
        .cpu_op("aten::addmm", 0, 40 * kUs,
                {.args = R"("Input Dims": [[16384], [16384, 16384], [16384, 16384]])"})
        .runtime("cudaLaunchKernel", 2 * kUs, 3 * kUs, 1)
        .kernel("gemm", 5 * kUs, 45 * kUs, on_stream(7, 1))
        .str();
  };
  EXPECT_THAT(text_of({rank(0)}), HasSubstr("\n  addmm 16384, 16384x16384, 16384x…       1 "));
  const std::string both = text_of({rank(0), rank(1)});
  EXPECT_THAT(both, HasSubstr("\n  addmm 16384, 16384x163… of rank 0       1 "));
  EXPECT_THAT(both, HasSubstr("\n  addmm 16384, 16384x163… of rank 1       1 "));
}

// As JAX, Ascend and the legacy profiler write them.
TEST(TextReport, WhereEventsHaveUnknownCategoriesNobodyIsSureOfTheCpu) {
  const auto text_with = [](const char* category, const char* top = R"("x": 1)") {
    return TraceText()
        .rank(0, 2)
        .top(top)
        .step(0, 0, 1'000'000)
        .cpu_op("aten::mm", 0, 600'000)
        .slice(category, "mm", 100, 900'000, on_stream(2))
        .str();
  };
  const std::string unknown = text_of({text_with("hpu_op")});
  EXPECT_THAT(lines_of(unknown)[1], HasSubstr("no GPU work that Redline knows · gloo"));
  EXPECT_THAT(unknown, HasSubstr("Most rules need to know what the GPU did."));
  EXPECT_THAT(notes_on({text_with("hpu_op")}),
              ::testing::ElementsAre("1 event without a category that Redline knows: none counts "
                                     "as GPU work"));
  EXPECT_THAT(notes_on({text_with("hpu_op"), rank(1, "k")}),
              ::testing::Contains("1 event of rank 0 without a category that Redline knows: none "
                                  "counts as GPU work"));
  EXPECT_THAT(notes_on({text_with("kernel")}), ::testing::IsEmpty());
  for (const std::string& known :
       {text_with("python_function"), text_with("hpu_op", R"("redline": {"version": "1"})")}) {
    EXPECT_THAT(lines_of(text_of({known}))[1], HasSubstr("CPU only · gloo"));
    EXPECT_THAT(notes_on({known}), ::testing::IsEmpty());
  }
}

TEST(TextReport, OfAProcessOnSeveralGpusAllAreCounted) {
  const auto header_of = [](const std::vector<int>& ranks) {
    std::vector<std::string> texts;
    for (const int rank : ranks) {
      TraceText text;
      text.top(R"("deviceProperties": [{"id": 0, "name": "A"}, {"id": 1, "name": "A"}, )"
               R"({"id": 2, "name": "A"}, {"id": 3, "name": "A"}])");
      text.rank(rank, 2).step(0, 0, 1'000'000);
      for (const char* pid : {"0", "1", "2"}) {
        text.kernel("k", 0, 900'000, {.pid = pid, .tid = "7"});
      }
      text.kernel("put", 0, 8'000, {.pid = "3", .tid = "7"});  // where it put a tensor
      texts.push_back(text.str());
    }
    return lines_of(text_of(texts))[1];
  };
  EXPECT_THAT(header_of({0}), ::testing::StartsWith("3 x A "));
  EXPECT_THAT(header_of({0, 1}), ::testing::StartsWith("6 x A "));
}

TEST(TextReport, FiguresOfAStepAreOfTheRanksWhoseGpuIsRecorded) {
  const std::vector<std::string> texts = {without_gpu_records(0, "cudaLaunchKernel", R"("x": 1)"),
                                          rank(1, "k")};
  const std::string text = text_of(texts);
  EXPECT_THAT(lines_of(text)[1], HasSubstr("2 GPUs"));
  EXPECT_THAT(text, HasSubstr("! note     GPU work was not recorded of rank 0: means are of"));
  EXPECT_THAT(text, HasSubstr("kernel         899.0 us  89.9 %"));
  EXPECT_THAT(text, Not(HasSubstr("longest own work")));
  const Report report = report_on(texts);
  const auto json = nlohmann::json::parse(report_json(report));
  EXPECT_EQ(json["traces"][0]["gpu_not_recorded"], nlohmann::json({{"reason", nullptr}}));
  EXPECT_TRUE(json["traces"][1]["gpu_not_recorded"].is_null());
  EXPECT_THAT(report_html(report), HasSubstr("GPU work was not recorded of rank 0"));
}

TEST(TextReport, ATitleThatNeedsTheColumnsOfItsTableStandsAboveThem) {
  const std::string one = TraceText()
                              .top(R"("host_name": "node")")
                              .step(0, 0, 1'000'000)
                              .slice("python_function", "nn.Module: Linear_0", 0, 500'000)
                              .cpu_op("aten::linear", 0, 400'000)
                              .str();
  const std::vector<std::string> lines = lines_of(text_of({one, one}));
  const auto title =
      std::find(lines.begin(), lines.end(), "MODULES by host time of 2 recordings (1)");
  ASSERT_NE(title, lines.end());
  EXPECT_THAT(title[1], ::testing::StartsWith(std::string(36, ' ') + " calls   forward"));
}

// Half of the step's kernels are gone: as a busy host it would be "Host-bound".
TEST(TextReport, GpuWorkThatIsRecordedInPartIsSaidAndJudgedByNoRule) {
  const auto job = [](int number, const char* gpu) {
    TraceText text;
    text.rank(number, 2, "nccl").top(fmt::format(R"("redline": {{"gpu": {{{}}}}})", gpu));
    for (int i = 0; i < 3; ++i) {
      const int64_t begin_ns = i * 100'000'000;
      text.step(i, begin_ns, begin_ns + 100'000'000)
          .cpu_op("aten::mm", begin_ns, begin_ns + 90'000'000)
          .kernel("k", begin_ns, begin_ns + 40'000'000);
    }
    return text.str();
  };
  const std::string whole = job(0, R"("graph_launches": 8, "incomplete": 3)");
  ASSERT_THAT(text_of({whole}),
              AllOf(HasSubstr("GPU 0 runs kernels 40.0 %"), Not(HasSubstr("! note"))));
  const std::pair<const char*, const char*> reasons[] = {
      {R"("off_before": "torch.profiler")", "torch.profiler"},
      {R"("off_after": "Nsight")", "Nsight"},
      {R"("failed_flush": "libcupti: gone")", "libcupti: gone"},
      {R"("incomplete": 50000, "incomplete_surges": 5)", "CUPTI gave 50000 records without times"},
      {R"("graph_launches": 99, "graph_launches_without_work": 1)",
       "1 of 99 launches of CUDA graphs have no work"}};
  for (const auto& [gpu, reason] : reasons) {
    const std::string text = job(0, gpu);
    EXPECT_THAT(notes_on({text}), ::testing::ElementsAre(fmt::format(
                                      "GPU work was recorded in part ({}): GPU times and shares "
                                      "are too small",
                                      reason)));
    EXPECT_THAT(text_of({text}), AllOf(HasSubstr("! note     GPU work was recorded in part"),
                                       HasSubstr("Most rules need to know what the GPU did.")));
  }
  const std::string half = job(1, R"("off_after": "Nsight")");
  const Report report = report_on({whole, half});
  EXPECT_THAT(trace_notes(report),
              ::testing::ElementsAre(
                  "GPU work was recorded in part of rank 1 (Nsight): means are of the other "
                  "ranks"));
  const auto traces = nlohmann::json::parse(report_json(report))["traces"];
  EXPECT_TRUE(traces[0]["gpu_partly_recorded"].is_null());
  EXPECT_EQ(traces[1]["gpu_partly_recorded"], "Nsight");
  EXPECT_FALSE(report.comparison->straggler);
  EXPECT_EQ(rank_weights(report.traces), (std::vector<double>{1, 0}));
}

TEST(Reports, CountTheStepsOfAllWindowsOfARank) {
  std::vector<std::string> windows;
  for (const int64_t begin_ns : {0, 1'000'000}) {
    TraceText text;
    text.rank(0, 1, "gloo");
    for (int step = 0; step < 3; ++step) {
      text.step(step, begin_ns + step * 1000, begin_ns + (step + 1) * 1000);
    }
    windows.push_back(text.str());
  }
  const Report report = report_on(windows);
  EXPECT_THAT(report_text(report, {}), HasSubstr("1 rank · 6 steps"));
  EXPECT_THAT(report_html(report), HasSubstr("1 rank · 6 steps"));
}

TEST(Reports, NameAGpuThatRocmNumbersOtherwise) {
  TraceText text;
  text.top(R"("deviceProperties": [{"id": 0, "name": "AMD Instinct MI300X", "numSms": 304}])");
  text.step(0, 0, 1000).kernel("Cijk_Ailk_Bljk_SB_MT16x16x16_SE", 0, 600, {.pid = "9", .tid = "7"});
  const std::string said = report_text(report_on({text.str()}), {});
  EXPECT_THAT(said, HasSubstr("\nAMD Instinct MI300X "));
}

// A profile of the CPU alone: NCCL's annotations end before the collectives do.
TEST(Reports, ShowNoTimesOfCollectivesThatTheTraceDoesNotTell) {
  std::vector<std::string> texts;
  for (const int rank : {0, 1}) {
    TraceText text;
    text.rank(rank, 2, "nccl").step(0, 0, 1'000'000 + rank * 300'000);
    text.slice("user_annotation", "nccl:all_reduce", 100'000, 400'000,
               {.tid = "2", .args = R"("Input Dims": [[1000]], "Input type": ["float"])"});
    texts.push_back(text.str());
  }
  const Report report = report_on(texts);
  const std::string text = report_text(report, {});
  EXPECT_THAT(
      text,
      HasSubstr("nccl:all_reduce                     2    3.9 KiB         -        -          -"));
  EXPECT_THAT(text, HasSubstr("  rank 1       1.3 ms          -           -        -"));
  EXPECT_THAT(text, Not(HasSubstr("longest own work")));
  const auto json = nlohmann::json::parse(report_json(report));
  const auto& row = json["traces"][0]["collectives"][0];
  for (const char* key : {"total_ns", "exposed_ns", "algorithm_bandwidth", "bus_bandwidth"}) {
    EXPECT_TRUE(row.at(key).is_null()) << key;
  }
  EXPECT_EQ(row["bytes"], 4000);
  EXPECT_TRUE(json["ranks"]["skew_ns"].is_null());
  EXPECT_TRUE(json["ranks"]["times"][0]["own_work_ns"].is_null());
  EXPECT_TRUE(json["ranks"]["times"][0]["exposed_communication_ns"].is_null());
  const std::string html = report_html(report);
  EXPECT_THAT(html, HasSubstr("own work is not known"));
  EXPECT_THAT(html, Not(HasSubstr("own work differs")));
}

TEST(TextReport, TheVerdictOnAHangGoesOnInTheNextLine) {
  Report report = report_on({rank(0, "k")});
  Hang& hang = report.hang.emplace();
  hang.kind = HangKind::kMismatch;
  hang.ranks = {1};
  hang.host = "node-17";
  hang.entered = "all_reduce [[1024, 4096]] BFloat16";
  hang.expected = "all_reduce [[1024, 1024]] Float";
  const std::vector<std::string> sentences = hang_lines(hang, 0);
  ASSERT_GT(sentences.front().size(), 69U);
  const auto lines = lines_of(report_text(report, {}, {}));
  const auto first = std::ranges::find_if(
      lines, [](const std::string& line) { return line.starts_with("! hangs    "); });
  ASSERT_NE(first, lines.end());
  EXPECT_EQ(first->substr(11) + " " + std::next(first)->substr(11), sentences.front());
}

TEST(TextReport, WhyAFlightRecorderWroteLeadsEachFormOfTheReport) {
  const std::string text = text_of({of_a_ring(0), of_a_ring(1)});
  const auto lines = lines_of(text);
  ASSERT_GT(lines.size(), 3U);
  EXPECT_EQ(lines[2], "! written  rank 0: step 8 has not ended after <4 ms>");
  EXPECT_EQ(lines[3], "! written  rank 1: step 8 has not ended after <4 ms>");
  EXPECT_THAT(text, Not(HasSubstr("unfinished ProfilerStep"))) << "it is no operator";
  const Report report = report_on({of_a_ring(0)});
  EXPECT_THAT(report_html(report), HasSubstr("rank 0: step 8 has not ended after &lt;4 ms&gt;"));
  const auto json = nlohmann::json::parse(report_json(report));
  EXPECT_EQ(json["traces"][0]["reason"], "step 8 has not ended after <4 ms>");
  EXPECT_TRUE(
      nlohmann::json::parse(report_json(report_on({rank(0, "gemm")})))["traces"][0]["reason"]
          .is_null());
}

TEST(TextReport, NoLineOfARealTraceIsWiderThan80Columns) {
  const std::filesystem::path folder = redline::testing::shared_dir() + "/traces";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no shared traces here";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto trace = read_trace(entry.path());
    ASSERT_TRUE(trace);
    const Report report = make_report({*trace});
    for (const TextScope& scope : {TextScope{}, TextScope{TextScope::kAll}}) {
      for (const std::string& line : lines_of(report_text(report, {}, scope))) {
        EXPECT_LE(columns(line), 80) << entry.path() << "\n" << line;
      }
    }
  }
}

TEST(TextReport, OfInferenceHasTheLatencyOfABatch) {
  const auto inference = [](int number, int batches) {
    TraceText trace;
    trace.rank(number, 2).top(R"("redline": {"inference": true, "samples_per_step": 16})");
    for (int i = 0; i < batches; ++i) {
      trace.step(i, i * 1'000'000, (i + 1) * 1'000'000)
          .cpu_op("aten::mm", i * 1'000'000, i * 1'000'000 + 1000);
    }
    return trace.str();
  };
  EXPECT_THAT(text_of({inference(0, 3)}), HasSubstr("inference, a step is a batch: p50 1.0 ms\n"));
  const std::string text = text_of({inference(0, 6), inference(1, 6)});
  EXPECT_THAT(text, HasSubstr("  16,000 samples/s of all ranks, by the steps recorded\n"));
  EXPECT_THAT(text, HasSubstr("  inference, a step is a batch: p50 1.0 ms · p90 1.0 ms\n"));
  EXPECT_THAT(text_of({rank(0, "gemm")}), Not(HasSubstr("inference")));
}

TEST(TextReport, SaysTokensASecondWhereSequencesWereSeen) {
  const std::string trace =
      TraceText()
          .top(R"("redline": {"samples_per_step": 8, "tokens_per_step": 192})")
          .step(0, 0, 1'000'000)
          .cpu_op("aten::mm", 0, 1000)
          .str();
  EXPECT_THAT(text_of({trace}), HasSubstr("  8,000 samples/s, 192,000 tokens/s of all ranks"));
}

TEST(TextReport, CountsSamplesThatRanksShareOnce) {
  const auto reads = [](int number, const std::string& digest) {
    return TraceText()
        .rank(number, 4)
        .top(R"("redline": {"samples_per_step": 32, "tokens_per_step": 320, "batches_digest": ")" +
             digest + R"("})")
        .step(0, 0, 1'000'000)
        .cpu_op("aten::mm", 0, 1000)
        .str();
  };
  EXPECT_THAT(
      text_of({reads(0, "a"), reads(1, "a"), reads(2, "b"), reads(3, "b")}),
      HasSubstr("  16,000 samples/s, 160,000 tokens/s of all ranks, shared ones counted once, "
                "by the steps recorded\n"));
  EXPECT_THAT(text_of({reads(0, "a"), reads(1, "b"), reads(2, ""), reads(3, "")}),
              HasSubstr("  32,000 samples/s, 320,000 tokens/s of all ranks, by the steps"));
}

TEST(TextReport, SaysLowRatesWithDecimals) {
  const std::string trace = TraceText()
                                .top(R"("redline": {"samples_per_step": 1})")
                                .step(0, 0, 1'280'000'000)
                                .cpu_op("aten::mm", 0, 1000)
                                .str();
  EXPECT_THAT(text_of({trace}), HasSubstr("  0.781 samples/s of all ranks"));
}

TEST(JsonReport, OfInferenceHasTheLatencyOfABatch) {
  const auto latency = [](const std::string& text) {
    return nlohmann::json::parse(report_json(report_on({text})))["traces"][0]["latency_ns"];
  };
  const std::string trace =
      TraceText().top(R"("redline": {"inference": true})").step(0, 0, 100).step(1, 100, 300).str();
  EXPECT_EQ(latency(trace), (nlohmann::json{{"p50", 150}, {"p90", nullptr}, {"p99", nullptr}}));
  EXPECT_TRUE(latency(TraceText().step(0, 0, 100).str()).is_null());
  EXPECT_TRUE(
      latency(TraceText().top(R"("redline": {"inference": true})").cpu_op("aten::mm", 0, 9).str())
          .is_null());
}

TEST(TextReport, CoversAllRanks) {
  const std::string text = text_of({rank(0, "first_kernel"), rank(1, "second_kernel")});
  EXPECT_THAT(text, HasSubstr("run/"));
  EXPECT_THAT(text, HasSubstr("2 ranks"));
  EXPECT_THAT(text, HasSubstr("first_kernel"));
  EXPECT_THAT(text, HasSubstr("second_kernel"));
  EXPECT_THAT(text, HasSubstr("KERNELS of 2 ranks (2)"));
  EXPECT_THAT(text, HasSubstr("GPU 0 of rank 1"));
}

TEST(TextReport, SumsTheSameKernelOverRanks) {
  EXPECT_THAT(text_of({rank(0, "k"), rank(1, "k")}),
              HasSubstr("  k                                             2    1.8 ms  899.0 us"));
}

// Two ranks with an all-reduce of 1 MiB - 1 KiB, which takes 1 ms on the first and 3 ms on the
// second.
TEST(TextReport, ACollectiveOfAllRanksHasTheirMeanRateAndRoomForIt) {
  const auto rank = [](int number, int64_t length_ns) {
    return TraceText()
        .rank(number, 2)
        .kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 0, length_ns,
                on_stream(7, 0, R"("Group size": 2, "In msg nelems": 261888, "dtype": "Float")"))
        .str();
  };
  EXPECT_THAT(text_of({rank(0, 1'000'000), rank(1, 3'000'000)}),
              HasSubstr("      2 1023.0 KiB    4.0 ms  100.0 % 523.8 MB/s"));
}

TEST(TextReport, OfManyRanksThoseThatMatterAreShown) {
  std::vector<std::string> texts;
  for (int i = 0; i < 8; ++i) {
    texts.push_back(
        TraceText()
            .rank(i, 8)
            .step(0, 0, 1'000'000 + (i == 6 ? 500'000 : i))
            .event(fmt::format(
                R"({{"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", )"
                R"("pid": 1, "tid": 1, "ts": 5, "args": {{"Device Type": 1, "Device Id": 0, )"
                R"("Bytes": 4096, "Addr": 1, "Total Allocated": {}, "Total Reserved": 8192}}}})",
                i == 7 ? 8192 : 4096))
            .str());
  }
  const std::string text = text_of(texts);
  EXPECT_THAT(text, HasSubstr("  rank 6       1.5 ms     1.5 ms"));
  EXPECT_THAT(text, HasSubstr("… and 3 more with less own work"));
  EXPECT_THAT(text, HasSubstr("  GPU 0 of rank 7            8.0 KiB allocated"));
  EXPECT_THAT(text, HasSubstr("… and 3 lower ones"));
  EXPECT_THAT(text_of(texts, {TextScope::kAll}), HasSubstr("  rank 0       1.0 ms"));
}

TEST(TextReport, OfAModelOnSeveralGpusTheFullestIsNamed) {
  const auto memory = [](int device, int64_t reserved) {
    return fmt::format(
        R"({{"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", )"
        R"("pid": 1, "tid": 1, "ts": 5, "args": {{"Device Type": 1, "Device Id": {}, )"
        R"("Bytes": 4096, "Addr": 1, "Total Allocated": 4096, "Total Reserved": {}}}}})",
        device, reserved);
  };
  const auto text_with = [&](const std::string& second) {
    return text_of({fmt::format(
        R"({{"deviceProperties": [{{"id": 0, "name": "A", "totalGlobalMem": 800000}}{}], )"
        R"("traceEvents": [{}, {}]}})",
        second, memory(0, 32768), memory(1, 16384))});
  };
  const std::string text = text_with(R"(, {"id": 1, "name": "B", "totalGlobalMem": 20000})");
  EXPECT_THAT(text, HasSubstr("4.0 KiB allocated, 32.0 KiB reserved\n"));
  EXPECT_THAT(text, HasSubstr("4.0 KiB allocated, 16.0 KiB reserved (fullest)\n"));
  EXPECT_THAT(text_with(""), Not(HasSubstr("fullest"))) << "what the other one has is not known";
}

TEST(Reports, MemoryThatAnAllocatorHeldIsNotZeroWhereItIsNotKnown) {
  const Report report =
      report_on({TraceText()
                     .cpu_op("aten::empty", 0, 10'000)
                     .event(R"({"ph": "i", "s": "t", "name": "[memory]", "pid": 1, )"
                            R"("tid": 1, "ts": 5, "args": {"Device Type": 1, )"
                            R"("Device Id": 0, "Bytes": 4096, "Addr": 1}})")
                     .str()});
  const auto memory = nlohmann::json::parse(report_json(report))["traces"][0]["memory"];
  EXPECT_EQ(memory["peak_allocated"], 4096);
  EXPECT_TRUE(memory["peak_reserved"].is_null());
  EXPECT_TRUE(memory["devices"][0]["peak_reserved"].is_null());
  EXPECT_EQ(memory["devices"][0]["timeline"], nlohmann::json::parse("[[5000, 4096, null]]"));
  EXPECT_THAT(report_text(report, {}), HasSubstr("4.0 KiB allocated\n"));
}

TEST(TextReport, NamesTheFolderOfRanksGivenWithoutOne) {
  const Report report = make_report({*parse_trace("a.json", rank(0, "k")),  //
                                     *parse_trace("b.json", rank(1, "k"))});
  EXPECT_EQ(title_of(report), std::filesystem::current_path().filename().string() + "/");
}

// Each takes 70 years, and five times as much is no int64.
TEST(Reports, ASumThatDoesNotFitIsTheLargestTime) {
  const auto report_of = [](bool on_gpu, bool has_one_name) {
    constexpr int64_t kLongNs = 2'200'000'000'000'000'000;
    TraceText text;
    for (int i = 0; i < 5; ++i) {
      const int number = has_one_name ? 0 : i;
      if (on_gpu) text.kernel(fmt::format("k{}", number), i, i + kLongNs, on_stream(7 + i));
      text.cpu_op(fmt::format("aten::op{}", number), i, i + kLongNs,
                  {.tid = std::to_string(2 + i),
                   .args = R"("Input Dims": [[8, 8]], "Input type": ["float"])"});
    }
    return report_on({text.str()});
  };
  const auto count_in = [](const std::string& text, const std::string& part) {
    size_t count = 0;
    for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
    return count;
  };
  const Report report = report_of(true, false);
  EXPECT_EQ(count_in(report_text(report, {}), "23.9 %"), 10U) << "five kernels, five operators";
  EXPECT_EQ(count_in(report_html(report), "23.9 %"), 10U);
  EXPECT_THAT(report_text(report_of(false, false), {}),
              HasSubstr("not modelled: 9223372036.9 s of CPU time (op4 2200000000.0 s, op3"));
  EXPECT_EQ(
      count_in(report_text(report_of(true, true), {}), "59223372036.9 s1844674407.4 s    100.0 %"),
      2U)
      << "a kernel and an operator, five times";
}

TEST(TextReport, AnEmptyFileIsNoRun) {
  EXPECT_THAT(text_of({R"({"traceEvents": []})"}), HasSubstr("the file holds no slices"));
}

TEST(TextReport, TopAndAllChooseHowMuch) {
  TraceText text;
  for (int i = 0; i < 8; ++i) text.kernel("k" + std::to_string(i), i * 100, i * 100 + 50);
  EXPECT_THAT(text_of({text.str()}), HasSubstr("KERNELS (top 5 of 8)"));
  EXPECT_THAT(text_of({text.str()}), HasSubstr("--all"));
  EXPECT_THAT(text_of({text.str()}, {2}), HasSubstr("KERNELS (top 2 of 8)"));
  const std::string all = text_of({text.str()}, {TextScope::kAll});
  EXPECT_THAT(all, HasSubstr("KERNELS (8)"));
  EXPECT_THAT(all, HasSubstr("k7"));
  EXPECT_THAT(all, Not(HasSubstr("--all")));
}

// The analysis keeps the ten longest names, so that nobody knows how many there were.
TEST(TextReport, TheCriticalPathSaysHowManyNamesItShows) {
  TraceText text;
  text.step(0, 0, 1'000'000);
  for (uint32_t i = 1; i <= 12; ++i) {
    text.runtime("cudaLaunchKernel", i * 1000, i * 1000 + 500, i);
    text.kernel("k" + std::to_string(i), i * 100'000, (i + 1) * 100'000, on_stream(7, i));
  }
  EXPECT_THAT(text_of({text.str()}), HasSubstr("CRITICAL PATH (top 5)    "));
  EXPECT_THAT(text_of({text.str()}, {TextScope::kAll}), HasSubstr("CRITICAL PATH (top 10)   "));
}

TEST(TextReport, SaysWhatTheLengthOfAStepIsMadeOf) {
  const std::string text = text_of({TraceText()
                                        .step(0, 0, 1'000'000)
                                        .cpu_op("aten::mm", 0, 100'000)
                                        .runtime("cudaLaunchKernel", 90'000, 100'000, 1)
                                        .kernel("long_kernel", 100'000, 2'000'000, on_stream(7, 1))
                                        .str()});
  EXPECT_THAT(text, HasSubstr("CRITICAL PATH (top "));
  EXPECT_THAT(text, ::testing::ContainsRegex("kernel +long_kernel +1 +1.9 ms +95.0 %"));
}

TEST(TextReport, NamesLoadIssuesWithCountAndOffset) {
  const std::string text = text_of(
      {TraceText().cpu_op("aten::mm", 0, 1000).event(R"({"ph": "X", "name": "no time"})").str()});
  EXPECT_THAT(text, HasSubstr("1 skipped"));
  EXPECT_THAT(text, ::testing::ContainsRegex("! skipped  1 x event_without_ts, first at byte "));
  EXPECT_THAT(text, HasSubstr("           An event has no \"ts\", so it has no place in time.\n"));
}

TEST(JsonReport, NamesLoadIssuesWithCountAndOffset) {
  const std::string text =
      TraceText().cpu_op("aten::mm", 0, 1000).event(R"({"ph": "X", "name": "no time"})").str();
  const auto json = nlohmann::json::parse(report_json(report_on({text})));
  const auto& issue = json["traces"][0]["issues"][0];
  EXPECT_EQ(issue["count"], 1);
  EXPECT_EQ(issue["first_offset"], text.find(R"({"ph": "X", "name": "no time"})"));
  EXPECT_EQ(issue["lost"], true);
  EXPECT_EQ(json["traces"][0]["skipped"][issue["name"].get<std::string>()], 1);
}

TEST(JsonReport, EvidenceHasPlacesToJumpTo) {
  const std::string text =
      TraceText()
          .step(0, 0, 1'000'000)
          .annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 300'000)
          .str();
  const auto trace = *parse_trace("a.json", text);
  const auto evidence =
      nlohmann::json::parse(report_json(make_report({trace})))["advice"][0]["evidence"];
  EXPECT_EQ(evidence["trace"], 0);
  const auto& event = evidence["events"][0];
  const SliceId slice{event["id"].get<uint32_t>()};
  EXPECT_EQ(trace->string(trace->slices().name[slice.value]), event["name"]);
  EXPECT_EQ(trace->slices().begin_ns[slice.value], event["begin_ns"]);
  EXPECT_EQ(trace->slices().end_ns[slice.value], event["end_ns"]);
}

TEST(WhatIfText, OfAStepThatMayBeAllTakenAwayThereIsNoMostGain) {
  Prediction said;
  said.step_ns = 1e6, said.new_ns = 1e5, said.high_ns = 5e5;
  EXPECT_THAT(what_if_text("a", {}, said, {}), HasSubstr("as fast, at least 2.00 x\n"));
  said.low_ns = 5e4;
  EXPECT_THAT(what_if_text("a", {}, said, {}), HasSubstr("as fast, between 2.00 x and 20.00 x\n"));
}

TEST(TextReport, ColoursOnlyWhereAskedFor) {
  const Report report = report_on({rank(0, "k")});
  EXPECT_THAT(report_text(report, {.colour = false}), Not(HasSubstr("\x1b")));
  EXPECT_THAT(report_text(report, {.colour = true}), HasSubstr("\x1b["));
  for (const char c : report_text(report, {.utf8 = false})) EXPECT_LT(static_cast<uint8_t>(c), 128);
}

}  // namespace
}  // namespace redline::trace
