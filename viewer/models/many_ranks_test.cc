// A job of many ranks of which only the first ones are loaded: what is known of the others, and
// that all figures are those of a session that has loaded everything.
#include <gmock/gmock.h>

#include <QTemporaryDir>
#include <fstream>

#include "viewer/models/analyse.h"
#include "viewer/models/layout.h"
#include "viewer/models/load.h"
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
  void write(int rank, const TestTrace& trace) {
    std::ofstream(path(fmt::format("rank{}.pt.trace.json", rank))) << trace.json();
  }
  [[nodiscard]] std::string path(const std::string& name) const {
    return folder_.filePath(QString::fromStdString(name)).toStdString();
  }
  [[nodiscard]] LoadedSession load(const ManyRanks& many) const {
    auto loaded = load_session({folder_.path().toStdString()}, {}, many);
    EXPECT_TRUE(loaded) << loaded.error();
    return *std::move(loaded);
  }
  [[nodiscard]] std::shared_ptr<const Session> first() const { return load(kMany).session; }
  [[nodiscard]] std::shared_ptr<const Session> whole() const { return load({}).session; }

  QTemporaryDir folder_;
};

TEST_F(ManyRanksTest, OnlyTheFirstRanksAreLoaded) {
  const auto session = first();
  ASSERT_EQ(session->traces().size(), kRanks);
  EXPECT_EQ(session->loaded_count(), 2U);
  EXPECT_EQ(session->traces()[4].title, "rank 4");
  EXPECT_EQ(session->traces()[4].trace->slice_count(), 0U);
  EXPECT_THAT(load_report(*session), HasSubstr("rank4.pt.trace.json\n  not read yet"));
  EXPECT_FALSE(whole()->is_partial()) << "few ranks are loaded at once";
}

TEST_F(ManyRanksTest, LargeRanksAreNotLoadedBesideTheFirst) {
  ManyRanks many = kMany;
  many.opened_bytes = 1;
  EXPECT_EQ(load(many).session->loaded_count(), 1U);
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

TEST_F(ManyRanksTest, ARankThatCannotBeReadIsNamed) {
  const auto session = first();
  ASSERT_TRUE(QFile::remove(QString::fromStdString(path("rank5.pt.trace.json"))));
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
  std::ofstream(path("again.pt.trace.json")) << training_trace(3).json();
  EXPECT_FALSE(first()->is_partial()) << "only their ends tell which of them count";
}

TEST_F(ManyRanksTest, ABadFileIsLeftOut) {
  std::ofstream(path("rank5.pt.trace.json")) << "no trace";
  const LoadedSession loaded = load(kMany);
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

  Layout changed = before;
  changed.toggle(row_of(before, 0).id);
  Layout after(session->with(read_ranks(*session, {4}).ranks), 100'000);
  after.take_over(changed);
  EXPECT_TRUE(row_of(after, 0).folded) << "as the user has folded it";
  EXPECT_FALSE(row_of(after, 4).folded);
  EXPECT_EQ(after.group_of(row_of(after, 4)).title, "rank 4 · CPU");
}

}  // namespace
}  // namespace redline::viewer
