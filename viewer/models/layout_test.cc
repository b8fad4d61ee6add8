#include "viewer/models/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "trace/write/merge.h"
#include "viewer/models/analyse.h"
#include "viewer/models/find_results.h"
#include "viewer/models/testing_trace.h"

namespace redline::viewer {
namespace {

std::vector<std::string> titles(const Session& session) {
  std::vector<std::string> lines;
  for (const TrackGroup& group : track_groups(session)) {
    lines.push_back(group.title + " | " + group.note);
    for (const TrackItem& item : group.tracks)
      lines.push_back("  " + item.title + " | " + item.note);
  }
  return lines;
}

TEST(Tracks, RankThenProcessThenMainThreadFirst) {
  const std::vector<std::string> expected{"rank 0 · CPU | pid 100", "  thread 100 | main · python",
                                          "  thread 101 | ",        "rank 0 · GPU 0 | Tesla V100",
                                          "  stream 7 | ",          "  stream 20 | ",
                                          "rank 1 · CPU | pid 100", "  thread 100 | main · python",
                                          "  thread 101 | ",        "rank 1 · GPU 0 | Tesla V100",
                                          "  stream 7 | ",          "  stream 20 | "};
  EXPECT_EQ(titles(two_ranks()), expected);
}

TEST(Tracks, OfTwoRunsStandGroupByGroupAboveOneAnother) {
  std::vector<std::shared_ptr<const trace::Trace>> traces;
  for (const int rank : {0, 1, 0, 1}) {
    traces.push_back(training_trace(rank)
                         .raw(R"({"ph":"C","name":"load","pid":100,"ts":1000001,"args":{"n":1}})")
                         .read());
  }
  const Session runs(traces, 2);
  std::vector<TrackGroup> groups = track_groups(runs);
  add_derived(groups, runs, *analyse_session(runs).derived);
  std::vector<std::string> found;
  for (const TrackGroup& group : groups) found.push_back(group.title);
  std::vector<std::string> expected;
  for (const char* rank : {"rank 0", "rank 1"}) {
    for (const char* what : {"CPU", "GPU 0", "Counters"}) {
      for (const char* run : {"before", "after"}) {
        expected.push_back(fmt::format("{} · {} · {}", run, rank, what));
      }
    }
  }
  EXPECT_EQ(found, expected);
}

TEST(Tracks, OfTwoRunsOnOtherGpusTheFirstStandsAboveTheSecond) {
  const auto run = [](int gpu) {
    return TestTrace(0)
        .slice("kernel", "gemm", gpu, 7, 0, 5, fmt::format(R"({{"device":{},"stream":7}})", gpu))
        .read();
  };
  EXPECT_EQ(titles(Session({run(3), run(1)}, 1)),
            (std::vector<std::string>{"before · rank 0 · GPU 3 | ", "  stream 7 | ",
                                      "after · rank 0 · GPU 1 | ", "  stream 7 | "}));
}

TEST(Tracks, OfAMergedFileHaveTheRankAndTheGpuOfTheirOwnProcess) {
  std::vector<std::shared_ptr<const trace::Trace>> ranks;
  for (const int rank : {0, 1}) {
    TestTrace trace = training_trace(rank);
    trace.raw(R"({"ph":"M","name":"process_labels","pid":0,"args":{"labels":"GPU 0"}})")
        .raw(R"({"ph":"M","name":"process_name","pid":100,"args":{"name":"python"}})")
        .raw(R"({"ph":"X","cat":"mine","name":"y","pid":77,"tid":5,"ts":1000001,"dur":5})")
        .raw(R"({"ph":"M","name":"process_name","pid":77,"args":{"name":"server"}})")
        .raw(R"~({"ph":"X","cat":"Trace","name":"PyTorch Profiler (0)","pid":"Spans",)~"
             R"("tid":"PyTorch Profiler","ts":1000001,"dur":5})");
    ranks.push_back(trace.read());
  }
  const std::string path = ::testing::TempDir() + "tracks-merged.json";
  ASSERT_TRUE(trace::merge_traces(ranks, path));
  const auto merged = trace::read_trace(path);
  ASSERT_TRUE(merged);
  const auto headers = [](const Session& session) {
    std::vector<std::string> found;
    for (const TrackGroup& group : track_groups(session)) {
      found.push_back(group.title + " | " + group.note);
    }
    return found;
  };
  const Session alone({*merged});
  EXPECT_EQ(alone.traces()[0].title, "") << "rank 0 alone did not make it";
  EXPECT_EQ(headers(alone),
            (std::vector<std::string>{"rank 0 · CPU | pid 100", "rank 1 · CPU | pid 10000100",
                                      "rank 0 · GPU 0 | Tesla V100", "rank 1 · GPU 0 | ",
                                      "rank 0 · Spans | ", "rank 0 · server | pid 77",
                                      "rank 1 · Spans | ", "rank 1 · server | pid 10000077"}));
  EXPECT_EQ(gpu_title(alone, 0, 10'000'000), "rank 1 · GPU 0");
  EXPECT_EQ(gpu_title(alone, 0, 3), "GPU 3") << "no process of the file";
  std::set<std::string> streams;
  const FindResults found = find_results(alone, Search(alone, "gemm"));
  for (const SliceRef hit : *found.hits) {
    streams.insert(hit_value(alone, hit, 3).text());
  }
  EXPECT_THAT(streams,
              ::testing::ElementsAre("rank 0 · GPU 0 stream 7", "rank 1 · GPU 0 stream 7"));
  const Session runs({*merged, *merged}, 1);
  EXPECT_EQ(runs.traces()[0].title, "before");
  EXPECT_EQ(gpu_title(runs, 1, 10'000'000), "after · rank 1 · GPU 0");
  EXPECT_EQ(Session({*merged, ranks[1]}).traces()[0].title, "tracks-merged");
}

TEST(Tracks, OnesWithoutSlicesAreHidden) {
  TestTrace trace = training_trace(0);
  trace.raw(R"({"ph":"M","name":"process_name","pid":5,"tid":5,"ts":1,"args":{"name":"x"}})");
  EXPECT_EQ(track_groups(Session({trace.read()})).size(), 2U);
}

TEST(Tracks, AThreadsNoteSaysItsNameAndWhatItIsFor) {
  TestTrace trace(0);
  auto thread = [&trace, at = 0](int tid, const std::string& name,
                                 const std::string& first) mutable {
    if (!name.empty()) {
      trace.raw(fmt::format(
          R"({{"ph":"M","name":"thread_name","pid":1,"tid":{},"args":{{"name":"{}"}}}})", tid,
          name));
    }
    trace.slice("cpu_op", first, 1, tid, at += 10, 5);
  };
  thread(1, "thread 1 (python)", "ProfilerStep#1");
  thread(2, "pt_autograd_0", "x");
  thread(3, "thread 3 (python)", "autograd::engine::evaluate_function: MmBackward0");
  thread(4, "", "enumerate(DataLoader)#_Iter.__next__");
  thread(5, " Pin_Memory ", "x");
  thread(6, "thread 6 (x", "x");
  thread(7, "thread 7 )(", "x");
  thread(8, "thread 8 (a(b))", "x");
  thread(9, "worker", "nccl:all_reduce");
  thread(10, "gloo 3", "x");
  thread(11, "", "aten::mm");
  std::string notes;
  const std::vector<TrackGroup> groups = track_groups(Session({trace.read()}));
  for (const TrackItem& item : groups.at(0).tracks) {
    notes += fmt::format("{}={}; ", item.title.substr(7), item.note);
  }
  EXPECT_EQ(notes,
            "1=main · python; 2=pt_autograd_0; 3=autograd · python; 4=loader; "
            "5=loader · Pin_Memory; 6=; 7=; 8=a(b); 9=communication · worker; 10=gloo 3; 11=; ");
}

TEST(Tracks, TheMainThreadIsThatOfTheStepsElseThatOfTheProcess) {
  for (const bool has_step : {true, false}) {
    TestTrace trace(0);
    trace.slice("user_annotation", has_step ? "ProfilerStep#1" : "x", 9, 7, 0, 10)
        .slice("cpu_op", "aten::mm", 9, 9, 20, 10);
    const std::vector<TrackGroup> groups = track_groups(Session({trace.read()}));
    const TrackItem& first = groups.at(0).tracks.at(0);
    EXPECT_EQ(first.title, has_step ? "thread 7" : "thread 9");
    EXPECT_EQ(first.note, "main");
    EXPECT_EQ(groups.at(0).tracks.at(1).note, "");
  }
}

TEST(Tracks, OnlyTheFirstSlicesTellWhatAThreadIsFor) {
  for (const int before : {1'999, 2'000}) {
    TestTrace trace(0);
    for (int i = 0; i < before; ++i) trace.slice("cpu_op", "x", 1, 2, i, 0.5);
    trace.slice("cpu_op", "MmBackward0", 1, 2, 9'000, 1);
    EXPECT_EQ(track_groups(Session({trace.read()})).at(0).tracks.at(0).note,
              before < 2'000 ? "autograd" : "");
  }
}

TEST(Tracks, OtherProcessesHaveTheirNamesAndStandLast) {
  TestTrace trace = training_trace(0);
  const auto other = [&trace](const char* category, const char* pid, const char* tid) {
    trace.raw(fmt::format(
        R"({{"ph":"X","cat":"{}","name":"y","pid":{},"tid":{},"ts":1000001,"dur":5,"args":{{}}}})",
        category, pid, tid));
  };
  other("Trace", R"("Spans")", R"("PyTorch Profiler")");
  other("mine", "77", "5");
  other("mine", R"("Extra")", R"(" ")");
  trace.raw(R"({"ph":"M","name":"process_name","pid":77,"args":{"name":"server"}})");
  trace.raw(R"({"ph":"M","name":"thread_name","pid":77,"tid":5,"args":{"name":" io "}})");
  const Session session({trace.read()});
  std::string found;
  for (const TrackGroup& group : track_groups(session)) {
    found += fmt::format("{}|{}|{}:", group.title, group.note, group.background);
    for (const TrackItem& item : group.tracks) found += item.title + ",";
    found += " ";
  }
  EXPECT_EQ(found,
            "rank 0 · CPU|pid 100|false:thread 100,thread 101, "
            "rank 0 · GPU 0|Tesla V100|false:stream 7,stream 20, "
            "rank 0 · Spans||true:PyTorch Profiler, rank 0 · server|pid 77|false:io, "
            "rank 0 · Extra||false:(no name), ");
}

TEST(Tracks, GpusHaveTheNamesThatTheReportGivesThem) {
  const auto note = [](const std::string& gpus, int64_t pid) {
    const std::string event = fmt::format(
        R"({{"ph":"X","cat":"kernel","name":"gemm","pid":{},"tid":7,"ts":1,"dur":5}})", pid);
    return track_groups(Session({TestTrace(0, 0, gpus).raw(event).read()})).at(0).note;
  };
  EXPECT_EQ(note(R"({"id":1,"name":"B"},{"id":0,"name":"A\u001b"})", 0), "A\ufffd");
  EXPECT_EQ(note(R"({"id":1,"name":"B"},{"id":0,"name":"A"})", 1), "B");
  EXPECT_EQ(note(R"({"id":0,"name":"A"})", 3'000'000'000), "") << "GPU -1";
  for (const char* hostile : {"", "7", R"({"id":0,"name":7})", R"({"id":999999999,"name":"B"})"}) {
    EXPECT_EQ(note(hostile, 0), "") << hostile;
  }
  // ROCm numbers a kernel's GPU otherwise than the list.
  const std::string mi300x = R"({"id":0,"name":"AMD Instinct MI300X"})";
  EXPECT_EQ(note(mi300x, 2), "AMD Instinct MI300X");
  EXPECT_EQ(note(mi300x + R"(,{"id":2,"name":"AMD Radeon PRO W7900"})", 2), "");
}

TEST(Layout, RowsFollowOneAnotherWithoutGaps) {
  const Session session = two_ranks();
  const Layout layout(session, 100'000);
  int y = 0;
  for (const Row& row : layout.rows()) {
    EXPECT_EQ(row.top, y);
    y += row.height;
    EXPECT_EQ(layout.row_at(row.top), &row);
    EXPECT_EQ(layout.row_at(row.top + row.height - 1), &row);
  }
  EXPECT_EQ(layout.height(), y);
  EXPECT_EQ(layout.row_at(y), nullptr);
  EXPECT_EQ(layout.row_at(-1), nullptr);
}

TEST(Layout, EverySliceIsFoundWhereItStands) {
  const Session session = two_ranks();
  const Layout layout(session, 100'000);
  for (uint32_t t = 0; t < 2; ++t) {
    for (uint32_t i = 0; i < session.traces()[t].trace->slice_count(); ++i) {
      const SliceRef ref{t, {i}};
      const auto top = layout.top_of(session, ref);
      ASSERT_TRUE(top);
      for (const int y : {*top, *top + Layout::kLaneHeight - 1}) {
        const auto hit = layout.lane_at(session, y);
        ASSERT_TRUE(hit);
        EXPECT_EQ(hit->trace, t);
        EXPECT_EQ(hit->lane, session.traces()[t].trace->slices().lane[i]);
      }
    }
  }
  EXPECT_FALSE(layout.lane_at(session, 0)) << "a header has no lane";
}

TEST(Layout, FoldingHidesAndRevealBringsBack) {
  const Session session = two_ranks();
  Layout layout(session, 100'000);
  const int full = layout.height();
  const SliceRef deep = slice_named(session, 0, "aten::addmm");
  layout.toggle({0, 0});
  EXPECT_FALSE(layout.top_of(session, deep));
  EXPECT_TRUE(layout.top_of(session, slice_named(session, 0, "ProfilerStep#5")));
  layout.toggle({0, -1});
  EXPECT_FALSE(layout.top_of(session, slice_named(session, 0, "ProfilerStep#5")));
  EXPECT_EQ(layout.rows().front().height, Layout::kHeaderHeight);
  layout.reveal(session, deep);
  EXPECT_TRUE(layout.top_of(session, deep));
  EXPECT_EQ(layout.height(), full);
}

TEST(Layout, FoldsSideThreadsOfManyRanksWhereRoomIsShort) {
  const Session session = two_ranks();
  const Layout roomy(session, 100'000);
  const Layout tight(session, 100);
  EXPECT_LT(tight.height(), roomy.height());
  EXPECT_TRUE(tight.top_of(session, slice_named(session, 1, "aten::addmm")));
  EXPECT_FALSE(tight.top_of(session, slice_named(session, 1, "aten::sum")));
}

RowId row_named(const Layout& layout, const std::string& group, const std::string& track) {
  for (uint32_t g = 0; g < layout.groups().size(); ++g) {
    const TrackGroup& candidate = layout.groups()[g];
    if (candidate.title != group) continue;
    for (int32_t i = 0; i < static_cast<int32_t>(candidate.tracks.size()); ++i) {
      if (candidate.tracks[static_cast<size_t>(i)].title == track) return {g, i};
    }
    if (track.empty()) return {g, -1};
  }
  ADD_FAILURE() << "no row " << group << "/" << track;
  return {};
}

std::vector<std::string> shown(const Layout& layout) {
  std::vector<std::string> titles;
  for (const Row& row : layout.rows()) {
    titles.push_back(row.is_header() ? layout.group_of(row).title : layout.item_of(row).title);
  }
  return titles;
}

constexpr const char* kGpu = "GPU 0";

class ArrangedLayout : public ::testing::Test {
 protected:
  Session session_ = two_ranks();
  Layout layout_{session_, 100'000};
  const std::string gpu_ = std::string("rank 1 · ") + kGpu;
};

TEST_F(ArrangedLayout, PinnedTracksStandFirstAndDoNotScroll) {
  const int full = layout_.height();
  layout_.set_pinned(row_named(layout_, gpu_, "stream 20"), true);
  const Row& row = layout_.rows().front();
  EXPECT_TRUE(row.pinned);
  EXPECT_EQ(layout_.item_of(row).title, "stream 20");
  EXPECT_EQ(row.trace, 1U);
  EXPECT_EQ(row.view_top(500), 0);
  EXPECT_EQ(layout_.pinned_height(), row.height);
  EXPECT_EQ(layout_.height(), full) << "moved, not copied";
  EXPECT_EQ(layout_.content_y(row.height - 1, 500), row.height - 1);
  EXPECT_EQ(layout_.content_y(row.height, 500), row.height + 500);
  const SliceRef slice = slice_named(session_, 1, "ncclDevKernel_AllReduce");
  EXPECT_EQ(layout_.top_of(session_, slice), 0);
  layout_.set_pinned(row.id, false);
  EXPECT_EQ(layout_.pinned_height(), 0);
}

TEST_F(ArrangedLayout, HiddenTracksComeBackWhenASliceIsGoneTo) {
  layout_.hide(row_named(layout_, "rank 0 · CPU", "thread 100"));
  EXPECT_FALSE(layout_.top_of(session_, slice_named(session_, 0, "aten::addmm")));
  layout_.reveal(session_, slice_named(session_, 0, "aten::addmm"));
  EXPECT_TRUE(layout_.top_of(session_, slice_named(session_, 0, "aten::addmm")));
  layout_.hide_others(row_named(layout_, gpu_, "stream 7"));
  EXPECT_EQ(shown(layout_), (std::vector<std::string>{gpu_, "stream 7"}));
  layout_.show_all();
  EXPECT_EQ(shown(layout_).size(), 12U);
}

TEST_F(ArrangedLayout, FilterShowsTracksOfTheTextAndUnfoldsThem) {
  layout_.toggle(row_named(layout_, gpu_, ""));
  layout_.set_filter("STREAM 7");
  EXPECT_EQ(shown(layout_), (std::vector<std::string>{std::string("rank 0 · ") + kGpu, "stream 7",
                                                      gpu_, "stream 7"}));
  layout_.set_filter("rank 1");
  EXPECT_EQ(shown(layout_).size(), 6U);
  layout_.set_filter("no such track");
  EXPECT_EQ(layout_.height(), 0);
  layout_.reveal(session_, slice_named(session_, 0, "gemm"));
  EXPECT_EQ(layout_.filter(), "");
}

TEST_F(ArrangedLayout, MovedTracksKeepTheirPlaceWhenOthersJoin) {
  layout_.move(row_named(layout_, gpu_, "stream 20"), -1);
  layout_.move(row_named(layout_, "rank 1 · CPU", ""), -2);
  const auto before = shown(layout_);
  EXPECT_EQ(before.front(), "rank 1 · CPU");
  EXPECT_EQ(before.back(), "stream 7");
  layout_.move(row_named(layout_, gpu_, "stream 7"), 5);
  EXPECT_EQ(shown(layout_), before) << "the last stays the last";

  Layout again(session_, 100'000);
  again.arrange(layout_.arrangement());
  EXPECT_EQ(shown(again), before);
  DerivedTracks derived;
  derived.graphs.push_back({1, 0, "GPU memory", "", Graph({{0, 1}}, "B")});
  again.add(session_, derived);
  EXPECT_EQ(shown(again).back(), "GPU memory");
  EXPECT_EQ(again.rows().back().height, Layout::kGraphHeight);
}

TEST(Layout, TellsTwoRecordingsOfOneRankApart) {
  const Session session({training_trace(0).read(), training_trace(0, 1'000'300).read()});
  EXPECT_EQ(session.traces()[0].title, "rank 0");
  EXPECT_EQ(session.traces()[1].title, "rank 0 · 2");
  Layout layout(session, 100'000);
  const size_t all = layout.rows().size();
  const SliceRef slice = slice_named(session, 1, "aten::addmm");
  layout.set_pinned(layout.row_of(session, slice)->id, true);
  EXPECT_EQ(layout.rows()[0].trace, 1U);
  EXPECT_EQ(layout.rows().size(), all) << "the other recording's row is still there";
  ASSERT_NE(layout.row_of(session, slice), nullptr);
  EXPECT_TRUE(layout.row_of(session, slice)->pinned);
  EXPECT_FALSE(layout.row_of(session, slice_named(session, 0, "aten::addmm"))->pinned);
}

TEST(Layout, ADeepStackLeavesTheGpuInSight) {
  TestTrace trace(0);
  for (int depth = 0; depth < 40; ++depth) {
    trace.slice("python_function", fmt::format("frame {}", depth), 1, 1, depth, 1000 - 2 * depth);
  }
  trace.kernel("gemm", 7, 10, 20);
  const Session session({trace.read()});
  const Layout layout(session, 400);
  const int scroll = layout.first_scroll(400);
  const auto gpu = layout.row_of(session, slice_named(session, 0, "gemm"));
  ASSERT_TRUE(gpu);
  EXPECT_EQ(gpu->top + gpu->height - scroll, 400) << "at the lower end of the view";
  const auto launches = layout.top_of(session, slice_named(session, 0, "frame 39"));
  ASSERT_TRUE(launches);
  EXPECT_GT(*launches, scroll) << "what is deepest in the stack is in sight, too";
  EXPECT_EQ(layout.first_scroll(5000), 0);
  for (int stream = 8; stream < 60; ++stream) trace.kernel("gemm", stream, 10, 20);
  const Session many({trace.read()});
  const Layout of_many(many, 400);
  const auto first = of_many.row_of(many, slice_named(many, 0, "gemm"));
  EXPECT_GT(first->top - of_many.first_scroll(400), 100) << "half of the view is the host's";
  EXPECT_LT(first->top - of_many.first_scroll(400), 300);
  TestTrace host(0);
  host.slice("cpu_op", "aten::mm", 1, 1, 0, 5);
  EXPECT_EQ(Layout(Session({host.read()}), 10).first_scroll(10), 0) << "no GPU";
}

TEST(Layout, OneTraceFoldsSideThreadsOnlyToShowItsGpus) {
  const Session session({training_trace(0).read()});
  const auto folded = [&](int height) {
    const Layout layout(session, height);
    return std::count_if(layout.rows().begin(), layout.rows().end(),
                         [](const Row& row) { return row.folded; });
  };
  const Layout open(session, 10'000);
  EXPECT_EQ(folded(open.height()), 0);
  EXPECT_EQ(folded(open.height() - 1), 1) << "the autograd thread";
}

std::string rows_text(const Layout& layout) {
  std::string text;
  for (const Row& row : layout.rows()) {
    text += fmt::format("{}.{}{}{} ", row.id.group, row.id.track, row.folded ? "-" : "",
                        row.can_fold ? "+" : "");
  }
  return text;
}

TEST_F(ArrangedLayout, AllIsFoldedAndUnfolded) {
  layout_.fold_all(true);
  EXPECT_EQ(rows_text(layout_), "0.-1-+ 1.-1-+ 2.-1-+ 3.-1-+ ");
  layout_.toggle({2, -1});
  EXPECT_EQ(rows_text(layout_), "0.-1-+ 1.-1-+ 2.-1+ 2.0+ 2.1+ 3.-1-+ ");
  layout_.toggle({2, 1});
  EXPECT_EQ(rows_text(layout_), "0.-1-+ 1.-1-+ 2.-1+ 2.0+ 2.1-+ 3.-1-+ ");
  layout_.fold_all(false);
  EXPECT_EQ(rows_text(layout_), "0.-1+ 0.0+ 0.1+ 1.-1+ 1.0 1.1 2.-1+ 2.0+ 2.1+ 3.-1+ 3.0 3.1 ");
  EXPECT_TRUE(layout_.arrangement().folded.empty());
}

TEST_F(ArrangedLayout, OneThatTakesOverKeepsWhatWasChosen) {
  layout_.toggle({2, 1});
  layout_.set_filter("thread");
  Layout next(session_, 100);  // so short that it folds side threads
  EXPECT_TRUE(next.rows()[2].folded);
  next.take_over(layout_);
  EXPECT_EQ(rows_text(next), "0.-1+ 0.0+ 0.1+ 2.-1+ 2.0+ 2.1-+ ");
  EXPECT_EQ(next.filter(), "thread");
  // Of a thread that was not there before, the new layout's own choice counts.
  Layout one(Session({training_trace(0).read()}), 100'000);
  Layout both(session_, 100);
  both.take_over(one);
  EXPECT_EQ(rows_text(both), "0.-1+ 0.0+ 0.1+ 1.-1+ 1.0 1.1 2.-1+ 2.0+ 2.1-+ 3.-1+ 3.0 3.1 ");
}

TEST_F(ArrangedLayout, MovedRowsPassThoseThatAreNotShown) {
  DerivedTracks derived;
  for (const char* name : {"a", "b", "c", "d"}) {
    derived.graphs.push_back({1, 0, name, "", Graph({{0, 1}}, "B")});
  }
  layout_.add(session_, derived);
  const auto id = [this](const char* track) { return row_named(layout_, gpu_, track); };
  const auto tracks = [this] {
    std::string titles;
    for (const TrackItem& item : layout_.groups()[3].tracks) titles += item.title + " ";
    return titles;
  };
  layout_.set_pinned(id("a"), true);
  layout_.hide(id("b"));
  layout_.move(id("c"), -1);
  EXPECT_EQ(tracks(), "stream 7 c a b stream 20 d ");
  layout_.set_filter("stream");
  layout_.move(id("stream 7"), 1);
  EXPECT_EQ(tracks(), "stream 20 c a b stream 7 d ");
  layout_.move(id("stream 7"), 1);
  EXPECT_EQ(tracks(), "stream 20 c a b stream 7 d ") << "it is the last that is shown";
  layout_.set_filter({});
  layout_.hide({2, -1});
  layout_.move({3, -1}, -1);
  EXPECT_EQ(layout_.groups()[1].title, gpu_) << "before the other GPU, past the hidden threads";
}

TEST_F(ArrangedLayout, HeadersAndEndsAreNoTracks) {
  layout_.set_pinned({0, -1}, true);
  EXPECT_EQ(layout_.pinned_height(), 0);
  layout_.set_pinned({1, 1}, true);
  layout_.set_pinned({1, 0}, true);
  layout_.set_pinned({1, 1}, true);  // pinned again: it is the last now
  EXPECT_EQ(rows_text(layout_).substr(0, 8), "1.0 1.1 ");
  layout_.hide({1, 0});
  EXPECT_EQ(rows_text(layout_).substr(0, 10), "1.1 0.-1+ ") << "and its group has no rows";
  layout_.hide({2, -1});
  EXPECT_EQ(rows_text(layout_), "1.1 0.-1+ 0.0+ 0.1+ 3.-1+ 3.0 3.1 ");
  EXPECT_FALSE(layout_.lane_at(session_, layout_.height()));
  EXPECT_FALSE(layout_.lane_at(session_, -1));
  layout_.move({3, -1}, -5);
  EXPECT_EQ(layout_.groups()[0].title, gpu_);
  layout_.move({0, 0}, 1);
  EXPECT_EQ(layout_.groups()[0].tracks[0].title, "stream 20");
  layout_.set_state(1, "reading");
  EXPECT_EQ(layout_.groups()[0].busy, "") << "it is loaded";
}

TEST(Layout, WhatIsDoneToATrackStaysWithItAmongTracksOfItsName) {
  const Session session({training_trace(0).read()});
  DerivedTracks derived;
  for (int i = 0; i < 3; ++i) derived.graphs.push_back({0, -1, "same", "", Graph({{0, 1}}, "")});
  Layout layout(session, 100'000);
  layout.add(session, derived);
  layout.set_pinned({2, 1}, true);
  layout.move({2, 1}, -1);
  ASSERT_TRUE(layout.rows().front().pinned);
  EXPECT_EQ(layout.item_of(layout.rows().front()).index, 1U);
}

TEST(Layout, ManyCountersBeginFolded) {
  const Session session({training_trace(0).read()});
  for (const int count : {8, 9}) {
    Layout layout(session, 100'000);
    DerivedTracks derived;
    for (int i = 0; i < count; ++i)
      derived.graphs.push_back({0, -1, fmt::format("counter {}", i), "", Graph({{0, 1}}, "")});
    layout.add(session, derived);
    const auto& rows = layout.rows();
    EXPECT_EQ(rows.size(), count == 8 ? 6U + 9 : 7U) << count;
    EXPECT_EQ(rows.back().folded, count == 9);
  }
}

}  // namespace
}  // namespace redline::viewer
