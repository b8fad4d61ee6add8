// A job of many ranks of which only the first ones are loaded: what is known of the others, and
// that all figures are those of a session that has loaded everything.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "tests/temporary_folder.h"
#include "viewer/models/analyse.h"
#include "viewer/models/layout.h"
#include "viewer/models/load.h"
#include "viewer/models/overview.h"
#include "viewer/models/session_report.h"
#include "viewer/models/summary.h"
#include "viewer/models/testing_trace.h"

namespace redline::viewer {
namespace {

using ::testing::HasSubstr;

constexpr ManyRanks kMany{.least_ranks = 4, .least_bytes = 0, .opened = 2};
constexpr uint32_t kRanks = 6;

class ManyRanksTest : public ::testing::Test {
 protected:
  ManyRanksTest() {
    for (int rank = 0; rank < static_cast<int>(kRanks); ++rank) {
      TestTrace trace = training_trace(rank, 1'000'000 + 3 * rank);
      if (rank == 4) trace.kernel("only_here", 7, 200, 40);
      write(rank, trace);
    }
  }
  void write(int rank, const TestTrace& trace) { trace.write(file(rank)); }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }
  [[nodiscard]] LoadedSession load(const ManyRanks& many) const {
    auto loaded = load_session({folder_.path()}, {}, many);
    EXPECT_TRUE(loaded) << loaded.error();
    return *std::move(loaded);
  }
  [[nodiscard]] std::string file(int rank) const {
    return path(fmt::format("rank{}.pt.trace.json", rank));
  }
  [[nodiscard]] uint64_t bytes(int rank) const { return std::filesystem::file_size(file(rank)); }
  [[nodiscard]] std::shared_ptr<const Session> first() const { return load(kMany).session; }
  [[nodiscard]] std::shared_ptr<const Session> whole() const { return load({}).session; }

  testing::TemporaryFolder folder_;
};

TEST_F(ManyRanksTest, OnlyTheFirstRanksAreLoaded) {
  const auto session = first();
  ASSERT_EQ(session->traces().size(), kRanks);
  EXPECT_EQ(session->loaded_count(), 2U);
  EXPECT_EQ(session->traces()[4].title, "rank 4");
  EXPECT_EQ(session->traces()[4].trace->slice_count(), 0U);
  EXPECT_THAT(load_report(*session), HasSubstr("rank4.pt.trace.json\n  not read yet"));
  EXPECT_FALSE(whole()->is_partial()) << "few ranks are loaded at once";
  const double seconds = load(kMany).seconds;
  EXPECT_TRUE(seconds > 0 && seconds < 3600) << seconds;
}

TEST_F(ManyRanksTest, ManyAreAsManyRanksAndAsMuchTextAsTheLimits) {
  uint64_t all = 0;
  std::vector<std::string> paths;
  for (int rank = 0; rank < static_cast<int>(kRanks); ++rank) {
    all += bytes(rank);
    paths.push_back(file(rank));
  }
  for (const auto& where : {std::vector{folder_.path()}, paths}) {
    EXPECT_TRUE(opens_first_ranks(where, {.least_ranks = kRanks, .least_bytes = all}));
    EXPECT_FALSE(opens_first_ranks(where, {.least_ranks = kRanks + 1, .least_bytes = all}));
    EXPECT_FALSE(opens_first_ranks(where, {.least_ranks = kRanks, .least_bytes = all + 1}));
  }
  EXPECT_FALSE(opens_first_ranks({path("nothing")}, {.least_ranks = 1, .least_bytes = 1}));
  EXPECT_FALSE(opens_first_ranks({path("")}, {.least_ranks = 7, .least_bytes = 0}));
  for (const char* ending : {".gz", ".zst"}) {
    const std::string packed = path(std::string("rank.json") + ending);
    std::ofstream(packed) << "12345";
    EXPECT_TRUE(opens_first_ranks({packed}, {.least_ranks = 1, .least_bytes = 5 * 16})) << ending;
    EXPECT_FALSE(opens_first_ranks({packed}, {.least_ranks = 1, .least_bytes = 5 * 16 + 1}));
  }
}

TEST_F(ManyRanksTest, LargeRanksAreNotLoadedBesideTheFirst) {
  ManyRanks many = kMany;
  many.opened_bytes = 1;
  EXPECT_EQ(load(many).session->loaded_count(), 1U);
  trace::ReadOptions options;
  std::set<uint64_t> totals;
  options.progress = [&totals](uint64_t, uint64_t total) { totals.insert(total); };
  ASSERT_TRUE(load_session({folder_.path()}, options, many));
  EXPECT_EQ(totals, std::set{bytes(0)}) << "a look at the beginnings is no progress";
  many.opened = 3;
  many.opened_bytes = bytes(0) + bytes(1) + bytes(2);
  EXPECT_EQ(load(many).session->loaded_count(), 3U);
  --many.opened_bytes;
  EXPECT_EQ(load(many).session->loaded_count(), 2U);
}

TEST_F(ManyRanksTest, TablesOfAllRanksAreThoseOfAWholeSession) {
  const AnalysedSession some = analyse_session(*first());
  const AnalysedSession all = analyse_session(*whole());
  ASSERT_EQ(some.report->traces.size(), kRanks);
  EXPECT_EQ(some.report->analyses.size(), 2U);
  for (const auto table : {&ReportTables::operators, &ReportTables::ranks, &ReportTables::copies}) {
    EXPECT_EQ(table_csv((*some.tables).*table), table_csv((*all.tables).*table));
  }
  EXPECT_EQ(cell_text(some.tables->kernels, 0, "Calls"),
            cell_text(all.tables->kernels, 0, "Calls"));
  EXPECT_EQ(some.tables->kernels.rows.size(), 3U) << "one of them on a rank that is not loaded";
  EXPECT_EQ(summarize(*some.report).step, summarize(*all.report).step);
  for (size_t row = 0; row < kRanks; ++row) {
    EXPECT_EQ(some.tables->ranks.rows[row].slice, all.tables->ranks.rows[row].slice)
        << "a row leads to the longest step, also of a rank that is not loaded";
  }
}

TEST_F(ManyRanksTest, TheOverviewIsThatOfAWholeSession) {
  const auto session = first();
  const Session outlined = session->outlined(analyse_session(*session).pass.outlines);
  const auto all = whole();
  EXPECT_EQ(outlined.range(), all->range());
  EXPECT_EQ(outlined.event_count(), all->event_count());
  EXPECT_THAT(load_report(outlined), HasSubstr("slices, not in memory"));
  const auto some_columns = overview_columns(outlined, 50);
  const auto all_columns = overview_columns(*all, 50);
  for (size_t c = 0; c < 50; ++c) {
    // At the edge of a slice the outline of one rank may be a column off.
    EXPECT_NEAR(some_columns[c].busy, all_columns[c].busy, 1.01 / kRanks) << c;
  }
}

TEST_F(ManyRanksTest, ARankThatIsLoadedLaterIsAsInAWholeSession) {
  const auto session = first();
  ReadRanks read = read_ranks(*session, {4});
  ASSERT_TRUE(read.failed.empty());
  // What the report found may come between reading the rank and showing it.
  const Session outlined = session->outlined(analyse_session(*session).pass.outlines);
  const auto all = whole();
  for (const Session& some : {session->with(read.ranks), outlined.with(read.ranks)}) {
    EXPECT_EQ(some.loaded_count(), 3U);
    const SliceRef kernel = slice_named(some, 4, "only_here");
    EXPECT_EQ(kernel, slice_named(*all, 4, "only_here"));
    EXPECT_EQ(some.range_of(kernel), all->range_of(kernel));
    EXPECT_EQ(some.traces()[4].steps[1].range, all->traces()[4].steps[1].range);
  }
}

// Where a trace that is loaded later stands depends on what is known of the others by then.
TEST_F(ManyRanksTest, ARankThatIsLoadedLaterFollowsTheAxis) {
  write(5, training_trace(5, 999'900));  // begins before all others, which only its outline tells
  const auto session = first();
  const auto all = whole();
  ReadRanks read = read_ranks(*session, {4});
  EXPECT_EQ(session->with(read.ranks).range(), (TimeRange{0, 252'000}));
  auto outlines = analyse_session(*session).pass.outlines;
  ASSERT_EQ(outlines.size(), kRanks);
  for (const bool is_known : {true, false}) {
    if (!is_known) outlines[4] = nullptr;
    const Session some = session->outlined(outlines).with(read.ranks);
    EXPECT_EQ(some.range(), all->range()) << is_known;
    for (const uint32_t t : {0U, 1U, 4U}) {
      EXPECT_EQ(some.traces()[t].origin_ns, 999'900'000);
      EXPECT_EQ(some.traces()[t].title, all->traces()[t].title);
      for (size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(some.traces()[t].steps[i].range, all->traces()[t].steps[i].range) << t;
      }
    }
  }
}

TEST_F(ManyRanksTest, OfRanksOfDifferentHoursEachBeginsWhereItsAxisDoes) {
  write(1, training_trace(1, 9'000'000'000));
  const auto session = first();
  EXPECT_TRUE(session->aligned_at_start()) << "the two that are loaded tell it";
  EXPECT_EQ(session->range(), (TimeRange{0, 199'000}));
  const Session some = session->with(read_ranks(*session, {4}).ranks);
  EXPECT_EQ(some.traces()[4].steps[0].range, (TimeRange{0, 99'000}));
  EXPECT_EQ(some.range(), (TimeRange{0, 240'000}));
  const Session outlined = session->outlined(analyse_session(*session).pass.outlines);
  EXPECT_EQ(outlined.range(), whole()->range());
  const Session later = outlined.with(read_ranks(outlined, {4}).ranks);
  EXPECT_EQ(later.traces()[4].steps[1].range, (TimeRange{100'000, 199'000}));
}

TEST_F(ManyRanksTest, WhatIsSkippedInARankIsCountedOnce) {
  for (const int rank : {1, 3, 4}) {
    const std::string text = training_trace(rank).json();
    std::ofstream(file(rank)) << text.substr(0, text.size() - 30);
  }
  const auto session = first();
  EXPECT_EQ(session->lost_count(), 1U) << "rank 1 is loaded";
  const Session outlined = session->outlined(analyse_session(*session).pass.outlines);
  EXPECT_EQ(outlined.lost_count(), 3U);
  EXPECT_EQ(outlined.lost_count(), whole()->lost_count());
  EXPECT_EQ(outlined.repaired_count(), whole()->repaired_count());
  const Session some = outlined.with(read_ranks(outlined, {3}).ranks);
  EXPECT_EQ(some.lost_count(), 3U);
  EXPECT_EQ(some.event_count(), whole()->event_count());
}

TEST_F(ManyRanksTest, RanksThatAreLoadedAreNotReadAgain) {
  const auto session = first();
  // Another file in its place, because the session may still show text of the first.
  ASSERT_TRUE(std::filesystem::remove(file(0)));
  std::ofstream(file(0)) << "no trace any more";
  const AnalysedSession analysed = analyse_session(*session);
  EXPECT_TRUE(analysed.pass.unreadable.empty());
  EXPECT_EQ(analysed.pass.summaries->size(), kRanks);
}

TEST_F(ManyRanksTest, TheReportSaysWhichRanksItHasAnalysed) {
  const auto session = first();
  std::vector<std::pair<size_t, size_t>> heard;
  const AnalysedSession analysed = analyse_session(
      *session, nullptr, {}, [&](size_t done, size_t total) { heard.emplace_back(done, total); });
  std::vector<std::pair<size_t, size_t>> expected;
  for (size_t done = 1; done <= kRanks; ++done) expected.emplace_back(done, kRanks);
  EXPECT_EQ(heard, expected);
  EXPECT_EQ(analysed.loaded_count, 2U);
  for (uint32_t t = 0; t < kRanks; ++t) {
    EXPECT_EQ(trace_at(*session, *analysed.report, t), t);
    const trace::Analysis* analysis = analysis_at(*analysed.report, t);
    ASSERT_EQ(analysis != nullptr, t < 2) << t;
    EXPECT_TRUE(analysis == nullptr || trace_of(*session, *analysis) == t);
  }
  // Who knows the summaries reads nothing anew.
  heard.clear();
  ASSERT_TRUE(std::filesystem::remove(file(5)));
  const AnalysedSession again =
      analyse_session(session->with(read_ranks(*session, {4}).ranks), nullptr, analysed.pass,
                      [&](size_t done, size_t total) { heard.emplace_back(done, total); });
  EXPECT_TRUE(heard.empty());
  EXPECT_EQ(again.report->analyses.size(), 3U);
  EXPECT_EQ(again.loaded_count, 3U);
  EXPECT_EQ(table_csv(again.tables->ranks), table_csv(analysed.tables->ranks));
  const std::atomic<bool> cancelled{true};
  const AnalysedSession none = analyse_session(*session, &cancelled);
  EXPECT_TRUE(none.report->is_cancelled);
  EXPECT_TRUE(none.tables->ranks.rows.empty());
  EXPECT_TRUE(analyse_session(*session, &cancelled, analysed.pass).report->is_cancelled);
}

TEST_F(ManyRanksTest, ARankThatCannotBeReadIsNamed) {
  const auto session = first();
  ASSERT_TRUE(std::filesystem::remove(path("rank5.pt.trace.json")));
  const ReadRanks read = read_ranks(*session, {5});
  EXPECT_TRUE(read.ranks.empty());
  EXPECT_THAT(read.failed.at(5), HasSubstr("rank5.pt.trace.json"));
}

TEST_F(ManyRanksTest, RanksOfAnotherHourStandAtTheStart) {
  write(5, training_trace(5, 9'000'000'000));
  const auto session = first();
  EXPECT_FALSE(session->aligned_at_start()) << "nobody knows yet";
  const Session outlined = session->outlined(analyse_session(*session).pass.outlines);
  EXPECT_TRUE(outlined.aligned_at_start());
  EXPECT_EQ(outlined.range(), whole()->range());
  const Session some = outlined.with(read_ranks(outlined, {5}).ranks);
  EXPECT_EQ(some.traces()[5].steps[0].range.begin_ns, 0);
}

TEST_F(ManyRanksTest, TracesOfOneRankAreAllLoaded) {
  training_trace(3).write(path("again.pt.trace.json"));
  EXPECT_FALSE(first()->is_partial()) << "only their ends tell which of them count";
}

TEST_F(ManyRanksTest, TracesThatDoNotTellTheirRankAreAllLoaded) {
  testing::TraceText text;
  std::ofstream(file(3)) << text.cpu_op("aten::mm", 0, 1'000).str();
  EXPECT_FALSE(first()->is_partial());
  write(3, training_trace(3));
  EXPECT_TRUE(first()->is_partial());
  const std::string recorder = training_trace(3).json();
  std::ofstream(file(3)) << R"({"redline": {"ring": {}}, )" << recorder.substr(1);
  EXPECT_FALSE(first()->is_partial()) << "a flight recorder's times decide whether it counts";
}

TEST_F(ManyRanksTest, ABadFileIsLeftOut) {
  std::ofstream(path("rank5.pt.trace.json")) << "no trace";
  ManyRanks many = kMany;
  many.least_ranks = kRanks;
  EXPECT_FALSE(load(many).session->is_partial()) << "too few are left";
  many.least_ranks = kRanks - 1;
  const LoadedSession loaded = load(many);
  EXPECT_EQ(loaded.session->traces().size(), kRanks - 1);
  EXPECT_EQ(loaded.session->loaded_count(), 2U);
  ASSERT_EQ(loaded.unreadable.size(), 1U);
  EXPECT_THAT(loaded.unreadable.front().message, HasSubstr("rank5.pt.trace.json"));
}

TEST_F(ManyRanksTest, ARankThatIsNotLoadedIsAFoldedRow) {
  const auto session = first();
  const Layout before(*session, 100'000);
  const auto row_of = [](const Layout& layout, uint32_t trace) {
    return *std::find_if(layout.rows().begin(), layout.rows().end(),
                         [trace](const Row& row) { return row.trace == trace; });
  };
  const Row row = row_of(before, 4);
  EXPECT_TRUE(row.is_header() && row.folded && row.can_fold);
  EXPECT_EQ(contents_of(before.group_of(row)), "not loaded");
  EXPECT_EQ(header_note(before.group_of(row)), "not loaded");
  EXPECT_EQ(before.group_of(row).title, "rank 4");
  const Session known = session->outlined(analyse_session(*session).pass.outlines);
  const Layout outlined(known, 100'000);
  EXPECT_EQ(contents_of(outlined.group_of(row_of(outlined, 4))), "not loaded · 19 slices");
  EXPECT_EQ(contents_of(outlined.group_of(row_of(outlined, 3))), "not loaded · 18 slices");

  Layout changed = before;
  changed.toggle(row_of(before, 0).id);
  Layout after(session->with(read_ranks(*session, {4}).ranks), 100'000);
  after.take_over(changed);
  EXPECT_TRUE(row_of(after, 0).folded) << "as the user has folded it";
  EXPECT_FALSE(row_of(after, 4).folded);
  EXPECT_EQ(after.group_of(row_of(after, 4)).title, "rank 4 · CPU");
}

TEST_F(ManyRanksTest, RowsOfRanksThatAreNotLoadedAreFilteredHiddenAndSayWhatIsDone) {
  const auto session = first();
  Layout layout(*session, 100'000);
  const auto shown = [&] {
    std::string text;
    for (const Row& row : layout.rows()) {
      if (row.is_header()) text += layout.group_of(row).title + "; ";
    }
    return text;
  };
  const std::string loaded = "rank 0 · CPU; rank 0 · GPU 0; rank 1 · CPU; rank 1 · GPU 0; ";
  EXPECT_EQ(shown(), loaded + "rank 2; rank 3; rank 4; rank 5; ");
  layout.set_filter("rank 4");
  EXPECT_EQ(shown(), "rank 4; ");
  layout.set_filter("");
  layout.hide({4, -1});
  EXPECT_EQ(shown(), loaded + "rank 3; rank 4; rank 5; ");
  layout.set_state(3, "reading");
  layout.set_state(0, "reading");
  for (const TrackGroup& group : layout.groups()) {
    EXPECT_EQ(group.busy, group.is_loaded ? "" : group.trace == 3 ? "reading" : "not loaded");
  }
}

TEST(RankOutline, ItsColumnsShareItsTimeEvenly) {
  RankOutline outline;
  outline.work = {1'000, 1'400};
  EXPECT_EQ(outline.column_at(1'000), nullptr) << "no columns";
  outline.columns.resize(4);
  for (const auto& [time_ns, column] :
       {std::pair(999, -1), std::pair(1'000, 0), std::pair(1'099, 0), std::pair(1'100, 1),
        std::pair(1'399, 3), std::pair(1'400, -1)}) {
    const auto place = static_cast<size_t>(std::max(column, 0));
    EXPECT_EQ(outline.column_at(time_ns), column < 0 ? nullptr : &outline.columns[place])
        << time_ns;
  }
  outline.work = {1'000, 1'000};
  EXPECT_EQ(outline.column_at(1'000), nullptr);
}

}  // namespace
}  // namespace redline::viewer
