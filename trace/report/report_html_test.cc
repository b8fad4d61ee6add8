#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/parsed_report.h"
#include "tests/paths.h"
#include "tests/trace_text.h"
#include "trace/model/slice_class.h"
#include "trace/read/reader.h"
#include "trace/report/html.h"
#include "trace/report/report.h"
#include "trace/report/report_html.h"

namespace redline::trace {
namespace {

using namespace redline::testing;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string rank_text(int rank, const std::string& kernel) {
  return TraceText()
      .rank(rank, 2)
      .step(0, 0, 1'000'000)
      .annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 300'000)
      .cpu_op("aten::mm", 300'000, 400'000)
      .runtime("cudaLaunchKernel", 310'000, 320'000, 1)
      .kernel(kernel, 330'000, 900'000, on_stream(7, 1))
      .str();
}

nlohmann::json data_of(const std::string& page) {
  const std::string open = "<script type=application/json id=data>";
  const size_t begin = page.find(open) + open.size();
  return nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(HtmlReport, NamesNeverBecomeMarkup) {
  const char* hostile = "<script>alert(1)</script><img src=x onerror=alert(2)>]]>--><!--' \\\" &";
  const std::string page = report_html(report_on({rank_text(0, hostile)}));
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;"));
  EXPECT_EQ(count_of(page, "<script"), 2) << "the data and the page's own";
  EXPECT_EQ(count_of(page, "</script>"), 2);
  const auto names = data_of(page)["names"];
  EXPECT_TRUE(std::any_of(names.begin(), names.end(), [](const auto& name) {
    return name[0] == "<script>alert(1)</script><img src=x onerror=alert(2)>]]>--><!--' \" &";
  })) << names;
}

// A rank that computes 90 % of its step on its own GPU, and copies once to GPU 0.
std::string copying_rank(int rank, const std::string& uuid) {
  TraceText text;
  text.rank(rank, 3).step(0, 0, 1'000'000).runtime("cudaLaunchKernel", 0, 1'000, 1);
  text.top(R"("deviceProperties": [{"id": )" + std::to_string(rank) +
           R"(, "name": "H100", "uuid": ")" + uuid + "\"}]");
  text.kernel("k", 100'000, 1'000'000, {std::to_string(rank), "7", 1, R"("blocks per SM": 0.5)"});
  if (rank > 0) text.slice("gpu_memcpy", "Memcpy HtoD", 200'000, 201'000, {.pid = "0", .tid = "7"});
  return text.str();
}

TEST(HtmlReport, GaugesAreOfTheGpusThatARankComputesOn) {
  const auto gauge = [](const char* label, const std::string& value) {
    return HasSubstr(std::string("<span class=dim>") + label + "</span><b>" + value + "</b>");
  };
  const std::string own =
      report_html(report_on({copying_rank(0, "a"), copying_rank(1, "b"), copying_rank(2, "c")}));
  EXPECT_THAT(own, gauge("GPU busy", "90.0 %"));
  EXPECT_THAT(own, gauge("SM efficiency", "45.0 %"));
  // Each takes a part of that GPU.
  const std::string shared =
      report_html(report_on({copying_rank(0, "a"), copying_rank(1, "b"), copying_rank(2, "b")}));
  EXPECT_THAT(shared, gauge("GPU busy", "–"));
  EXPECT_THAT(shared, gauge("SM efficiency", "–"));
}

TEST(HtmlReport, ColoursSlicesByTheClassesOfTheViewer) {
  const auto data =
      data_of(report_html(report_on({TraceText()
                                         .step(0, 0, 1000)
                                         .cpu_op("c10d::allreduce_", 0, 100)
                                         .cpu_op("record_param_comms", 10, 90)
                                         .annotation("xccl:all_reduce", 200, 300)
                                         .annotation("enumerate(DataPipe)#B", 400, 500)
                                         .slice("cuda_sync", "Sync", 600, 700)
                                         .str()})));
  std::map<std::string, SliceClass> classes;
  for (const auto& name : data["names"]) classes[name[0]] = static_cast<SliceClass>(int{name[1]});
  EXPECT_EQ(classes.at("c10d::allreduce_"), SliceClass::kCommunication);
  EXPECT_EQ(classes.at("record_param_comms"), SliceClass::kCommunication);
  EXPECT_EQ(classes.at("xccl:all_reduce"), SliceClass::kCommunication);
  EXPECT_EQ(classes.at("enumerate(DataPipe)#B"), SliceClass::kDataLoader);
  EXPECT_EQ(classes.at("Sync"), SliceClass::kRuntime);
}

TEST(HtmlReport, SaysWhatAnIssueOfTheFileMeans) {
  const std::string page = report_html(report_on(
      {TraceText().cpu_op("aten::mm", 0, 10).event(R"({"ph": "X", "name": "a"})").str()}));
  EXPECT_THAT(page, HasSubstr("event_without_ts"));
  EXPECT_THAT(page, HasSubstr("so it has no place in time."));
  EXPECT_THAT(page, HasSubstr("Look at what wrote or changed the file."));
}

TEST(HtmlReport, SaysWhoHoldsARunUpWhereNothingWasTraced) {
  std::vector<HangTable> dumps(2);
  for (HangTable& dump : dumps) {
    dump.rank = static_cast<int>(&dump - dumps.data());
    dump.world_size = 2;
    dump.groups = {{"0", {0, 1}, 0}};
    dump.collectives = {{"0", 1, "all_reduce", "[[8]]", "Float", true, 0}};
  }
  const auto page_of = [&] {
    Report report;
    report.path = "dumps";
    add_hang(report, {}, dumps);
    return report_html(report);
  };
  EXPECT_THAT(page_of(), HasSubstr("<div>What is known of 2 ranks names nobody"));
  dumps[0].collectives.push_back({"0", 2, "all_reduce", "[[8]]", "Float", false, 0});
  EXPECT_THAT(page_of(),
              AllOf(HasSubstr("<h2>Hangs: "), HasSubstr("rank 1"), Not(HasSubstr("names nobody"))));
  dumps[1].error = "ValueError: <none>";
  for (HangTable& dump : dumps) dump.state = ThreadState::kGone;
  EXPECT_THAT(page_of(), AllOf(HasSubstr("<h2>Failed: "), HasSubstr("ValueError: &lt;none&gt;")));
}

TEST(HtmlReport, LoadsNothingFromOutside) {
  const std::string page = report_html(report_on({rank_text(0, "k")}));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  for (const char* part :
       {"http://", "https://", "src=", "href=", "url(", "@import", "innerHTML", "eval("}) {
    EXPECT_THAT(page, Not(HasSubstr(part)));
  }
}

TEST(HtmlReport, PartsOfAStepAreMeansOverTheRanks) {
  const auto row = [](const std::string& part, const char* update) {
    const auto rank = [&](int number, int64_t forward_ns) {
      return TraceText()
          .rank(number, 2)
          .step(0, 0, 1'000'000)
          .cpu_op("aten::mm", 0, forward_ns)
          .cpu_op("MmBackward0", 500'000, 600'000)
          .annotation(update, 700'000, 800'000)
          .str();
    };
    const std::string page = report_html(report_on({rank(0, 100'000), rank(1, 300'000)}));
    const size_t at = page.find("<td>" + part + "</td>");
    return at == std::string::npos ? "" : page.substr(at, page.find("</tr>", at) - at);
  };
  EXPECT_THAT(row("forward", "Optimizer.step#SGD.step"), HasSubstr("200.0 us"));
  // What updates the parameters by hand cannot be told from the forward pass.
  EXPECT_THAT(row("fwd, update", "by hand"), HasSubstr("200.0 us"));
}

TEST(HtmlReport, HasTheRateAndTheLatencyOfInference) {
  const std::string page =
      report_html(report_on({TraceText()
                                 .top(R"("redline": {"inference": true, "samples_per_step": 16})")
                                 .step(0, 0, 1'000'000)
                                 .str()}));
  EXPECT_THAT(page, HasSubstr("16,000 samples/s of all ranks"));
  EXPECT_THAT(page, HasSubstr("inference, a step is a batch: p50 1.0 ms"));
}

TEST(HtmlReport, WithoutMarkedStepsNothingIsSaidOfSteps) {
  const auto page_of = [](bool marks_steps) {
    std::vector<std::string> ranks;
    for (int rank = 0; rank < 2; ++rank) {
      TraceText text;
      text.rank(rank, 2);
      if (marks_steps) text.step(1, 0, 1'000'000);
      text.cpu_op("aten::linear", 0, 100'000).cpu_op("AddmmBackward0", 600'000, 1'000'000);
      ranks.push_back(text.str());
    }
    return report_html(report_on(ranks));
  };
  const std::vector<std::string> words = {"1 step", "Parts of a step", "of the step", " a step<",
                                          ">step<"};
  const std::string marked = page_of(true);
  for (const std::string& word : words) EXPECT_THAT(marked, HasSubstr(word));
  const std::string page = page_of(false);
  EXPECT_THAT(page, HasSubstr("2 ranks · no marked steps · 4 events"));
  for (const std::string& word : words) EXPECT_THAT(page, Not(HasSubstr(word)));
}

TEST(HtmlReport, WhatCanBeCopiedIsWhatIsShown) {
  const std::string page = report_html(report_on({rank_text(0, "k")}));
  EXPECT_THAT(page, HasSubstr("<code>autotune --knob batch_size=1..4096</code>"
                              "<button data-copy=\"autotune --knob batch_size=1..4096\">"));
}

TEST(HtmlReport, KernelsWhoseShortNamesAreTheSameShowWhereTheyDiffer) {
  const auto product = [](const std::string& functor) {
    return "void at::native::vectorized_elementwise_kernel<4, at::native::" + functor +
           "<float, float, float, at::native::MulFunctor<float> >, at::detail::Array<char*, 3> "
           ">(int, at::detail::Array<char*, 3>)";
  };
  const std::string trace = TraceText()
                                .step(0, 0, 1'000'000)
                                .runtime("cudaLaunchKernel", 10'000, 20'000, 1)
                                .runtime("cudaLaunchKernel", 20'000, 30'000, 2)
                                .runtime("cudaDeviceSynchronize", 30'000, 950'000, 3)
                                .kernel(product("BinaryFunctor"), 40'000, 400'000, on_stream(7, 1))
                                .kernel(product("AUnaryFunctor"), 400'000, 940'000, on_stream(7, 2))
                                .str();
  const std::string page = report_html(report_on({trace}));
  EXPECT_EQ(count_of(page, ">vectorized_elementwise_kernel&lt;MulFunctor&gt; BinaryFunctor"), 2)
      << "among the kernels and on the path";
  EXPECT_EQ(count_of(page, ">vectorized_elementwise_kernel&lt;MulFunctor&gt; AUnaryFunctor"), 2);
}

TEST(HtmlReport, ALongSequenceOfKernelsIsNamedByItsFirst) {
  TraceText text;
  text.step(0, 0, 1'000'000'000);
  int64_t at_ns = 1000;
  for (int times = 0; times < 2; ++times) {
    for (int i = 0; i < 40; ++i) {
      const std::string name = i < 5 ? "first" : "kernel" + std::to_string(i);
      text.kernel(name, at_ns, at_ns + 2000);
      at_ns += 3000;
    }
  }
  const std::string page = report_html(report_on({text.str()}));
  EXPECT_THAT(page, HasSubstr("first × 5 → kernel5 → kernel6"));
  EXPECT_THAT(page, HasSubstr("kernel15 → … 24 more"));
  EXPECT_THAT(page, Not(HasSubstr("kernel15 → kernel16")));
}

TEST(HtmlReport, ThePathNamesItsClasses) {
  const std::string page = report_html(
      report_on({TraceText().step(0, 0, 1'000'000).cpu_op("aten::add", 0, 250'000).str()}));
  EXPECT_THAT(page, HasSubstr("what the length of a step is made of: other 75.0 %, cpu 25.0 %"));
}

TEST(HtmlReport, OneStepHasNoDeviation) {
  EXPECT_THAT(report_html(report_on({rank_text(0, "k")})), Not(HasSubstr("±")));
  EXPECT_THAT(report_html(report_on({TraceText().step(0, 0, 100).step(1, 100, 300).str()})),
              HasSubstr("± "));
}

// The machine first, because all figures rest on it; then the trace, then the whole run.
TEST(HtmlReport, ARunFollowsTheTraceButItsMachineLeads) {
  Report report = report_on({rank_text(0, "k")});
  RunFinding others;
  others.cause = RunCause::kOtherProcesses;
  others.taken_cores = 1.7;
  others.cores = 2;
  report.run.emplace().findings = {others};
  report.run->ranks.resize(1);
  report.run->part_share[static_cast<size_t>(LogPart::kForward)] = 0.9;
  report.run->part_share[static_cast<size_t>(LogPart::kCompile)] = 0.0001;
  const std::string page = report_html(report), text = report_text(report, {}, {});
  const auto are_in_order = [](const std::string& form, std::vector<const char*> parts) {
    size_t at = 0;
    for (const char* part : parts) {
      at = form.find(part, at);
      EXPECT_NE(at, std::string::npos) << part << "\n" << form;
    }
  };
  const char* busy = "Other processes take 1.7 of the 2 cores: recorded times may be too";
  are_in_order(page, {busy, "Average step", "What holds it back", "<h2>Timeline", "The whole run",
                      "What held it back", "Other processes take 1.7", "Where an hour of it goes"});
  are_in_order(text, {busy, "STEP", "WHAT HOLDS IT BACK", "RUN  ", "\n\nWHAT HELD IT BACK"});
  EXPECT_THAT(page, AllOf(HasSubstr("54.0 min"), Not(HasSubstr("0.0 min"))));
  report.traces.clear();
  EXPECT_THAT(report_html(report), Not(HasSubstr("recorded times"))) << "nothing was recorded";
}

TEST(HtmlReport, EachFindingJumpsIntoTheTimeline) {
  const std::string page = report_html(report_on({rank_text(0, "k")}));
  EXPECT_THAT(page, HasSubstr("DataLoader: training waits 300.0 us a step"));
  EXPECT_THAT(page, HasSubstr("<button data-evidence=0>"));
  const auto data = data_of(page);
  EXPECT_EQ(data["length"], 1'000'000);
  EXPECT_EQ(data["evidence"][0][0], 0);
  EXPECT_EQ(data["evidence"][0][1], 300'000);
}

TEST(HtmlReport, CoversAllRanks) {
  const std::string page = report_html(report_on({rank_text(0, "first"), rank_text(1, "second")}));
  EXPECT_THAT(page, HasSubstr("first"));
  EXPECT_THAT(page, HasSubstr("second"));
  EXPECT_THAT(page, HasSubstr("run/rank1.json"));
  EXPECT_EQ(data_of(page)["ranks"].size(), 2);
}

TEST(HtmlReport, NamesLoadIssuesWithCountAndOffset) {
  const std::string page = report_html(report_on(
      {TraceText().cpu_op("aten::mm", 0, 1000).event(R"({"ph": "X", "name": "no time"})").str()}));
  EXPECT_THAT(page, HasSubstr("What the reader skipped or repaired"));
  EXPECT_THAT(page, HasSubstr("<td>skipped</td>"));
}

TEST(HtmlReport, AnEmptyStepHasNoTimeline) {
  const std::string page = report_html(report_on({TraceText().cpu_op("a", 5, 5).str()}));
  EXPECT_THAT(page, HasSubstr("</html>"));
}

TEST(PageTimeline, DrawsTheLongestSlicesOfALargeStep) {
  TraceText text;
  text.step(0, 0, 40'000'000);
  for (int i = 0; i < 20'000; ++i) {
    text.cpu_op("op", i * 2'000, i * 2'000 + (i % 2 == 0 ? 1'000 : 500));
  }
  const Report report = report_on({text.str()});
  const PageTimeline timeline = page_timeline(report, loaded_traces(report));
  EXPECT_EQ(timeline.slice_count, 20'001);
  EXPECT_EQ(timeline.drawn_count, kMostDrawnSlices);
  EXPECT_THAT(report_html(report), HasSubstr("the longest 12,000 of 20,001 slices"));
  // There is room for 1,999 of the 10,000 that last 500 ns: every fifth or sixth.
  ASSERT_EQ(timeline.lanes.size(), 2);
  EXPECT_EQ(timeline.lanes[0].slices.size(), 1) << "the step";
  std::vector<int64_t> begins;
  for (const DrawnSlice& slice : timeline.lanes[1].slices) {
    if (slice.interval.length_ns() == 500) begins.push_back(slice.interval.begin_ns);
  }
  EXPECT_EQ(timeline.lanes[1].slices.size() - begins.size(), 10'000) << "of 1,000 ns";
  ASSERT_EQ(begins.size(), 1'999);
  EXPECT_EQ(begins.front(), 22'000) << "the sixth";
  EXPECT_EQ(begins.back(), 39'998'000) << "the last";
  for (size_t i = 1; i < begins.size(); ++i) {
    EXPECT_THAT(begins[i] - begins[i - 1], ::testing::AnyOf(20'000, 24'000)) << i;
  }
}

TEST(PageTimeline, IsTitledWithTheStepThatItShows) {
  TraceText text;
  for (int i = 0; i < 4; ++i) {
    const int64_t at_ns = i * kMs;
    text.step(i + 5, at_ns, at_ns + 995 * kUs);
    if (i == 2) {
      text.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                      at_ns + 10 * kUs, at_ns + 510 * kUs);
    }
    text.cpu_op("aten::mm", at_ns + 600 * kUs, at_ns + 700 * kUs);
    text.runtime("cudaLaunchKernel", at_ns + 610 * kUs, at_ns + 614 * kUs, i + 1);
    // Ends when the host has begun the next step, as the work of any job that does not wait for it.
    text.kernel("gemm", at_ns + (i == 2 ? 650 : 700) * kUs, at_ns + 1'200 * kUs,
                on_stream(7, i + 1));
  }
  const Report report = report_on({text.str()});
  const PageTimeline timeline = page_timeline(report, loaded_traces(report));
  EXPECT_EQ(timeline.window, (Interval{1'000 * kUs, 2'200 * kUs})) << "the host began step 6 there";
  EXPECT_EQ(timeline.title, "step 6");
}

TEST(PageTimeline, PythonFunctionsHideNoOperators) {
  const auto nested = [](const char* category, const std::string& name, bool has_operator) {
    TraceText text;
    text.step(0, 0, 1'000);
    for (int i = 0; i < 10; ++i) text.slice(category, name + std::to_string(i), i, 1'000 - i);
    if (has_operator) text.cpu_op("aten::mm", 20, 30).cpu_op("aten::add", 30, 40);
    return report_html(report_on({text.str()}));
  };
  const auto names = [](const std::string& page) { return data_of(page)["names"].dump(); };
  const std::string page = nested("python_function", "train.py: f", true);
  EXPECT_THAT(page, HasSubstr("3 slices, without Python functions"));
  EXPECT_THAT(names(page), AllOf(HasSubstr("aten::mm"), Not(HasSubstr("train.py"))));
  EXPECT_EQ(data_of(page)["lanes"].size(), 2) << "the step, and in it the operators";
  // Of a program without operators they are all that there is: the step is another.
  TraceText alone;
  alone.slice("python_function", "main", 0, 1'000).slice("python_function", "f", 0, 10);
  EXPECT_THAT(names(report_html(report_on({alone.str()}))), HasSubstr("main"));
  const std::string deep = nested("cpu_op", "aten::f", true);
  EXPECT_THAT(deep, HasSubstr("8 slices, the outermost of each thread"));
  EXPECT_THAT(names(deep), Not(HasSubstr("aten::mm")));
}

TEST(PageTimeline, ARanksLanePartsComputationFromCommunication) {
  const Report report = report_on({TraceText()
                                       .step(0, 0, 1000)
                                       .cpu_op("aten::mm", 0, 1000)
                                       .runtime("cudaLaunchKernel", 0, 10, 1)
                                       .kernel("k", 100, 400, on_stream(7, 1))
                                       .kernel("ncclDevKernel_AllReduce", 300, 600, on_stream(8))
                                       .str()});
  const PageTimeline timeline = page_timeline(report, loaded_traces(report));
  ASSERT_EQ(timeline.ranks.size(), 1);
  std::map<DeviceState, int64_t> times;
  for (const DeviceSpan& span : timeline.ranks[0].spans) {
    times[span.state] += span.interval.length_ns();
  }
  EXPECT_EQ(times[DeviceState::kCompute], 200);
  EXPECT_EQ(times[DeviceState::kOverlapped], 100);
  EXPECT_EQ(times[DeviceState::kExposedCommunication], 200);
}

TEST(HtmlReport, PagesOfRealTracesStaySmallAndWhole) {
  const std::filesystem::path folder = redline::testing::shared_dir() + "/traces";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no shared traces here";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto trace = read_trace(entry.path());
    ASSERT_TRUE(trace);
    const Report report = make_report({*trace});
    const std::string page = report_html(report);
    EXPECT_LT(page.size(), 1'000'000) << entry.path();
    EXPECT_EQ(count_of(page, "<section"), count_of(page, "</section>"));
    EXPECT_EQ(count_of(page, "data-evidence="), report.findings.size()) << entry.path();
    EXPECT_FALSE(data_of(page)["lanes"].empty());
  }
}

TEST(Html, EscapesWhatIsNoText) {
  EXPECT_EQ(html::escape("a<b>&\"'"), "a&lt;b&gt;&amp;&quot;&#39;");
  EXPECT_EQ(html::escape("\x01\xff"
                         "\xc3\xa4"),
            "\uFFFD\uFFFDä");
}

}  // namespace
}  // namespace redline::trace
