#include "viewer/models/details.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "tests/temporary_folder.h"
#include "trace/read/reader.h"
#include "viewer/models/analyse.h"
#include "viewer/models/search.h"
#include "viewer/models/testing_trace.h"

namespace redline::viewer {
namespace {

std::string value_of(const std::vector<DetailField>& fields, const std::string& name) {
  for (const DetailField& field : fields) {
    if (field.name == name) return field.value;
  }
  return "(none)";
}

TEST(Details, SaysAllThatTheFileSays) {
  const Session session = two_ranks();
  const SliceDetails details = slice_details(session, slice_named(session, 1, "aten::linear"));
  EXPECT_EQ(details.name, "aten::linear");
  EXPECT_EQ(value_of(details.fields, "Category"), "cpu_op");
  EXPECT_EQ(value_of(details.fields, "Start"), "+40.000 µs");
  EXPECT_EQ(value_of(details.fields, "Duration"), "30.000 µs");
  EXPECT_EQ(value_of(details.fields, "Trace"), "rank 1");
  EXPECT_EQ(value_of(details.fields, "Thread"), "100");
  EXPECT_EQ(value_of(details.arguments, "Input Dims"), "[[4,8],[8]]");
}

TEST(Details, WhatLiesBeforeTheAlignedStepSaysSo) {
  const Session runs({training_trace(0).read(), training_trace(0).read()}, 1);
  const SliceDetails details = slice_details(runs, slice_named(runs, 1, "aten::linear"));
  EXPECT_EQ(value_of(details.fields, "Start"), "-70.000 µs");
}

TEST(Details, ArgumentsOfAFileThatWasOverwrittenAreNotKnown) {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "rank0.pt.trace.json";
  const std::string json = training_trace(0).json();
  std::ofstream(path) << json;
  const Session session({trace::read_trace(path).value()});
  const SliceRef slice = slice_named(session, 0, "gemm");
  const auto hits = [&] {
    const HitBits found = find_in_args(session, "stream");
    return std::count(found[0].begin(), found[0].end(), true);
  };
  EXPECT_FALSE(slice_details(session, slice).arguments.empty());
  EXPECT_GT(hits(), 0);
  for (const std::string& other : {"{" + json, std::string("[]")}) {
    std::ofstream(path) << other;
    const auto arguments = slice_details(session, slice).arguments;
    ASSERT_EQ(arguments.size(), 1U);
    EXPECT_TRUE(arguments[0].value.find("the file has changed") != std::string::npos);
    EXPECT_EQ(hits(), 0);
  }
}

TEST(Details, NestedArgumentsAreFlat) {
  const auto fields = event_arguments(
      R"({"name":"k","args":{"occupancy":{"limit":"REGS","warps":4},"grid":[1,2,3],"empty":{}}})");
  EXPECT_EQ(value_of(fields, "occupancy.limit"), "REGS");
  EXPECT_EQ(value_of(fields, "occupancy.warps"), "4");
  EXPECT_EQ(value_of(fields, "grid"), "[1,2,3]");
  EXPECT_EQ(value_of(fields, "empty"), "{}");
}

TEST(Details, HostileTextIsShownNotParsed) {
  EXPECT_TRUE(event_arguments("").empty());
  EXPECT_TRUE(event_arguments(R"({"name":"no args"})").empty());
  EXPECT_EQ(value_of(event_arguments(R"({"args":{"a":inf}})"), "event"), R"({"args":{"a":inf}})");
  EXPECT_EQ(value_of(event_arguments(R"({"args":[1]})"), "args"), "[1]");
  const std::string deep = R"({"args":{"a":)" + std::string(100'000, '[') + "}}";
  EXPECT_EQ(event_arguments(deep).size(), 1U);
  const std::string large = R"({"args":{"a":")" + std::string(1'000'000, 'x') + "\"}}";
  EXPECT_LT(value_of(event_arguments(large), "a").size(), 5000U);
  EXPECT_EQ(value_of(event_arguments("{\"args\":{\"a\":\"\xff\"}}"), "event").substr(0, 8),
            "{\"args\":");
}

TEST(Details, StacksAreReadFrameByFrame) {
  const auto fields = event_arguments(R"({"args":{"Call stack":"a.py(1): f;b.py(2): g"}})");
  ASSERT_EQ(fields.size(), 1U);
  EXPECT_EQ(fields[0].value, "a.py(1): f\nb.py(2): g");
}

TestTrace launching_trace() {
  TestTrace trace(0);
  trace.slice("cpu_op", "aten::linear", 1, 1, 0, 20)
      .slice("cuda_runtime", "cudaLaunchKernel", 1, 1, 5, 2, R"({"correlation":7})")
      .slice("cpu_op", "aten::relu", 1, 1, 30, 5)
      .kernel("gemm", 7, 40, 5);
  for (const auto& [phase, at, tid] : {std::tuple("s", 0, 1), std::tuple("f", 30, 1)}) {
    trace.raw(fmt::format(
        R"({{"ph":"{}","id":3,"cat":"fwdbwd","name":"fwdbwd","pid":1,"tid":{},"ts":{},"bp":"e"}})",
        phase, tid, 1'000'000 + at));
  }
  return trace;
}

class Links : public ::testing::Test {
 protected:
  Session session_{{launching_trace().read()}};

  std::vector<std::string> texts(std::string_view name) {
    const SliceRef ref = slice_named(session_, 0, name);
    std::vector<std::string> result;
    for (const Link& link : links_of(session_, {}, ref)) {
      const SliceRef other = link.to == ref ? link.from : link.to;
      result.push_back(link_text(link, ref) + " " + std::string(session_.name_of(other)));
    }
    std::sort(result.begin(), result.end());
    return result;
  }
};

using Texts = std::vector<std::string>;

TEST_F(Links, LeadFromTheKernelToItsLaunchAndBack) {
  EXPECT_EQ(texts("gemm"), Texts{"launched by cudaLaunchKernel"});
  EXPECT_EQ(texts("cudaLaunchKernel"), Texts{"launches gemm"});
}

TEST_F(Links, AnOperatorLeadsToWhatItLaunchedAndToItsBackward) {
  EXPECT_EQ(texts("aten::linear"), (Texts{"backward pass aten::relu", "launches gemm"}));
  EXPECT_EQ(texts("aten::relu"), Texts{"backward of aten::linear"});
  EXPECT_TRUE(links_of(session_, {}, {}).empty());
  EXPECT_EQ(links_of(session_, {}, slice_named(session_, 0, "aten::linear"), 1).size(), 1U);
}

TEST(LinkRows, NameOperatorsInFullAndThoseWithoutAName) {
  TestTrace trace(0);
  trace.slice("user_annotation", "FSDP::pre_forward (layers.0)", 1, 1, 0, 50)
      .slice("cpu_op", "", 1, 1, 5, 20)
      .launch("void at::native::copy_kernel<float, 4>(float*, int)", 10, 60, 5);
  const Session session({trace.read()});
  const SliceRef launch = slice_named(session, 0, "cudaLaunchKernel");
  const Table table = link_rows(session, links_of(session, {}, launch), launch);
  std::string rows;
  for (size_t row = 0; row < table.rows.size(); ++row) {
    rows += cell_text(table, row, "Link") + " " + cell_text(table, row, "Slice") + "; ";
  }
  EXPECT_EQ(rows,
            "in operator (no name); in annotation FSDP::pre_forward (layers.0); "
            "launches copy_kernel<float,4>; ");
  EXPECT_EQ(slice_details(session, table.rows[0].slice).name, "(no name)");
}

TEST(CollectiveLinks, LeadToTheSameCallOnOtherRanks) {
  const Session session = two_ranks();
  const AnalysedSession analysed = analyse_session(session);
  const CollectiveLinks collectives(session, *analysed.report);
  EXPECT_EQ(collectives.size(), 4U);
  const SliceRef first = slice_named(session, 0, "ncclDevKernel_AllReduce");
  const std::vector<SliceRef> calls = collectives.calls_of(first);
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0], first);
  EXPECT_EQ(calls[1], slice_named(session, 1, "ncclDevKernel_AllReduce"));
  const auto links = links_of(session, collectives, first);
  ASSERT_FALSE(links.empty());
  EXPECT_EQ(link_text(links.back(), first), "same call");
  EXPECT_EQ(link_rows(session, links, first).rows.back().values[1].text(), "rank 1, same call");
  EXPECT_TRUE(collectives.calls_of(slice_named(session, 0, "gemm")).empty());
}

TEST(LinkRows, LeadToEachFrameOfThePythonStackTheInnermostFirst) {
  TestTrace trace(0);
  for (int frame = 0; frame < 3; ++frame) {
    trace.slice("python_function", fmt::format("train.py({}): f", frame), 1, 1, frame, 100 - frame);
  }
  trace.slice("cpu_op", "aten::mm", 1, 1, 10, 90);  // all end together
  const Session session({trace.read()});
  std::vector<std::string> names;
  for (const TableRow& row : link_rows(session, {}, slice_named(session, 0, "aten::mm")).rows) {
    EXPECT_EQ(session.name_of(row.slice), row.values[0].text());
    names.push_back(row.values[1].text() + " " + row.values[0].text());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"in Python train.py(2): f", "in Python train.py(1): f",
                                             "in Python train.py(0): f"}));
}

TEST(EventArguments, AreCutWhereTheyAreTooLongTooManyOrTooDeep) {
  const auto of = [](const std::string& args) {
    std::string text;
    for (const DetailField& field : event_arguments("{\"args\": " + args + "}"))
      text += field.name + "=" + field.value + ";";
    return text;
  };
  EXPECT_EQ(of(R"({"a": 1, "b": {"c": "x", "d": {}}, "e": [1, 2]})"), "a=1;b.c=x;b.d={};e=[1,2];");
  EXPECT_EQ(of("[1]"), "args=[1];");
  EXPECT_EQ(of(R"({"Call stack": "a;b"})"), "Call stack=a\nb;");
  EXPECT_EQ(of(R"({"stack": "a;b"})"), "stack=a;b;");
  const std::string most(4'000, 'x');
  EXPECT_EQ(of("{\"a\": \"" + most + "\"}"), "a=" + most + ";");
  EXPECT_EQ(of("{\"a\": \"" + most + "x\"}"), "a=" + most + "… (3.9 KiB);");
  std::string many = "{\"a0\": 0";
  for (int i = 1; i < 1'100; ++i) many += fmt::format(", \"a{}\": {}", i, i);
  EXPECT_EQ(event_arguments("{\"args\": " + many + "}}").size(), 1'000U);
  // The event's own brace and that of its args count.
  const auto deep = [&](size_t depth) {
    return of("{\"a\": " + std::string(depth, '[') + "1" + std::string(depth, ']') + "}")
        .substr(0, 6);
  };
  EXPECT_EQ(deep(62), "a=[[[[");
  EXPECT_EQ(deep(63), "event=");
  EXPECT_EQ(event_arguments("{\"name\": 1}").size(), 0U);
  EXPECT_EQ(event_arguments("torn {").at(0).name, "event");
  EXPECT_TRUE(event_arguments("").empty());
}

TEST(LinksOfASlice, AreByTimeHoweverDeepTheLaunchesStand) {
  TestTrace trace(0);
  trace.slice("user_annotation", "step", 1, 1, 0, 100)
      .slice("cpu_op", "aten::mm", 1, 1, 10, 20)
      .slice("cpu_op", "aten::addmm", 1, 1, 11, 18)
      .launch("first", 12, 200, 5)
      .launch("second", 40, 210, 5);
  const Session session({trace.read()});
  const SliceRef step = slice_named(session, 0, "step");
  const auto names = [&](size_t most) {
    std::string found;
    for (const Link& link : links_of(session, {}, step, most)) {
      found += std::string(session.name_of(link.to)) + " ";
    }
    return found;
  };
  EXPECT_EQ(names(10), "first second ");
  EXPECT_EQ(names(1), "first ");
}

TEST(LinksOfASlice, AreNoMoreThanWereAskedFor) {
  TestTrace trace(0);
  trace.slice("cpu_op", "outer", 1, 1, 0, 100);
  for (int i = 0; i < 5; ++i) trace.launch("k", 10 + 10 * i, 200 + 10 * i, 5);
  const Session session({trace.read()});
  const SliceRef outer = slice_named(session, 0, "outer");
  EXPECT_EQ(links_of(session, {}, outer).size(), 5U);
  EXPECT_EQ(links_of(session, {}, outer, 3).size(), 3U);
  EXPECT_TRUE(links_of(session, {}, {}).empty());
  EXPECT_TRUE(CollectiveLinks().calls_of(outer).empty());
}

}  // namespace

}  // namespace redline::viewer
