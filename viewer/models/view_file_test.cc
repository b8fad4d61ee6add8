#include "viewer/models/view_file.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/temporary_folder.h"
#include "viewer/models/testing_trace.h"

namespace redline::viewer {
namespace {

SavedView saved_view() {
  return {{5, 900}, 40, "gemm", {{"a"}, {"b", "c"}, {"d"}, {"d", "a"}}, {{77, "slow \"here\""}},
          true};
}

TEST(ViewFile, KeepsWhatWasSaved) {
  EXPECT_EQ(*parse_view(view_json(saved_view())), saved_view());
  EXPECT_EQ(*parse_view(view_json({})), SavedView());
  SavedView timed = saved_view();
  timed.origin_ns = 1'790'857'026'000'000'001;
  timed.marks.push_back({78, "of rank 1", 1});
  timed.traces = {"rank 0", "rank 1"};
  EXPECT_EQ(*parse_view(view_json(timed)), timed);
}

TEST(ViewFile, StandsBesideTheTraceOrInTheFolderOfSeveral) {
  EXPECT_EQ(view_path(Session({training_trace(0).read()})), "/data/run/rank0.pt.trace.json.view");
  EXPECT_EQ(view_path(two_ranks()), "/data/run/redline.view");
  EXPECT_EQ(view_path(Session({training_trace(0).read(), training_trace(1).read()}, 1)),
            "/data/run/redline.compare.view")
      << "a comparison has its own";
  EXPECT_EQ(view_path(Session(std::vector<std::shared_ptr<const trace::Trace>>{})), "");
}

TEST(ViewFile, MovesWithTheAxisWhereThatStandsOnUnixTime) {
  const SavedView view = moved(saved_view(), 100);
  EXPECT_EQ(view.range, (TimeRange{105, 1'000}));
  EXPECT_EQ(view.marks.at(0).time_ns, 177);
  EXPECT_EQ(view.marks.at(0).note, "slow \"here\"");
  EXPECT_EQ(moved(view, -100), saved_view());
  EXPECT_EQ(origin_of(two_ranks()), 1'000'000'000);
  const std::vector hours{training_trace(0).read(), training_trace(1, 3'600'000'000).read()};
  EXPECT_EQ(origin_of(Session(hours)), std::nullopt) << "each begins at 0";
  EXPECT_EQ(origin_of(Session(hours, 1)), std::nullopt) << "two runs";
  EXPECT_EQ(origin_of(Session(std::vector<std::shared_ptr<const trace::Trace>>{})), std::nullopt);
}

TEST(ViewFile, AMarkFindsItsTraceByTheTraceTitle) {
  SavedView view;
  view.traces = {"rank 7", "rank 1", "rank 0"};
  const Session session = two_ranks();
  EXPECT_EQ(trace_of_mark(view, {0, "", 1}, session), 1U);
  EXPECT_EQ(trace_of_mark(view, {0, "", 2}, session), 0U);
  view.traces.front() = "rank 1";
  EXPECT_EQ(trace_of_mark(view, {0, "", 0}, session), 1U);
  view.traces = {"rank 0", "rank 7"};
  for (const uint32_t unknown : {1U, 2U, UINT32_MAX}) {
    EXPECT_EQ(trace_of_mark(view, {0, "", unknown}, session), 0U);
  }
}

TEST(ViewFile, OtherFilesAreRefusedAndOddFieldsLeftOut) {
  EXPECT_FALSE(parse_view(""));
  EXPECT_FALSE(parse_view("{}"));
  EXPECT_FALSE(parse_view(R"(["schema"])"));
  EXPECT_EQ(parse_view("[]").error(),
            "not a view of this program (\"schema\": \"redline.view/1\")");
  EXPECT_FALSE(parse_view(R"({"schema": "redline.view/9"})"));
  const auto odd = parse_view(
      R"({"schema": "redline.view/1", "scroll": -5, "folded": [1, "x"], "marks": [3, {"trace": -1}],
          "begin_ns": "soon", "order": {}})");
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->scroll, 0);
  EXPECT_EQ(odd->arrangement.folded, std::set<std::string>{"x"});
  ASSERT_EQ(odd->marks.size(), 1U);
  EXPECT_EQ(odd->marks[0].trace, 0U);
}

TEST(ViewFile, ReadsWhatItWroteAndSaysWhatIsWrong) {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "t.json.view";
  EXPECT_FALSE(read_view(path)->has_value());
  EXPECT_FALSE(read_view("")->has_value());
  EXPECT_EQ(write_view(path, saved_view()), std::nullopt);
  EXPECT_EQ(**read_view(path), saved_view());
  std::ofstream(path) << "[]";
  EXPECT_NE(read_view(path).error().find(path), std::string::npos);
  EXPECT_EQ(write_view("/no/such/folder/t.view", saved_view()),
            "/no/such/folder/t.view: No such file or directory");
}

}  // namespace
}  // namespace redline::viewer
