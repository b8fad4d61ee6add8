// The window writes tables, pictures and views, and restores a view.
#include <QAction>
#include <QFile>
#include <QFileDialog>
#include <QImage>
#include <QSignalSpy>
#include <QTimer>
#include <fstream>

#include "tests/full_disk.h"
#include "viewer/models/view_file.h"
#include "viewer/widgets/find_pane.h"
#include "viewer/widgets/tables_pane.h"
#include "viewer/widgets/testing_window.h"

namespace redline::viewer {
namespace {

class Files : public Window {
 protected:
  static QByteArray content(const std::string& path) {
    QFile file(QString::fromStdString(path));
    EXPECT_TRUE(file.open(QIODevice::ReadOnly)) << path;
    return file.readAll();
  }
  std::string write_trace() { return training_trace(0).write(path("rank0.pt.trace.json")); }
};

TEST_F(Files, TheTableThatIsShownIsExported) {
  open_two_ranks();
  EXPECT_EQ(window_.export_to(path("t.csv"), ExportKind::kCsv), std::nullopt);
  EXPECT_TRUE(content(path("t.csv")).startsWith("name,calls,total_ns"));
  EXPECT_TRUE(content(path("t.csv")).contains("gemm,4,100000"));
  show_tab("Operators");
  EXPECT_EQ(window_.export_to(path("t.json"), ExportKind::kJson), std::nullopt);
  EXPECT_TRUE(content(path("t.json")).contains("aten::addmm"));
  const auto problem = window_.export_to("/no/such/folder/t.csv", ExportKind::kCsv);
  ASSERT_TRUE(problem);
  EXPECT_NE(problem->find("/no/such/folder/t.csv"), std::string::npos);
}

TEST_F(Files, AnExportOverwritesNoTraceThatIsOpen) {
  const std::string trace = training_trace(0).write(path("trace.json"));
  const QByteArray recorded = content(trace);
  QSignalSpy summed_up(&window_, &MainWindow::summed_up);
  window_.open({trace});
  ASSERT_TRUE(summed_up.wait(kLoadLimitMs));
  const std::string link = path("link.json");
  ASSERT_TRUE(QFile::link(QString::fromStdString(trace), QString::fromStdString(link)));
  for (const auto kind : {ExportKind::kCsv, ExportKind::kJson, ExportKind::kPng}) {
    for (const std::string& name : {trace, link}) {
      const auto problem = window_.export_to(name, kind);
      EXPECT_EQ(problem, name + ": is one of the files that are open. Name another file.");
    }
  }
  EXPECT_EQ(content(trace), recorded);
  EXPECT_EQ(window_.export_to(path("other.json"), ExportKind::kJson), std::nullopt);

  QString proposed;
  QTimer::singleShot(0, [&proposed] {
    auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
    ASSERT_NE(dialog, nullptr);
    proposed = dialog->selectedFiles().value(0);
    dialog->reject();
  });
  for (QAction* action : window_.findChildren<QAction*>()) {
    if (action->text() == "Table as JSON …") action->trigger();
  }
  EXPECT_EQ(proposed.toStdString(), path("trace.kernels.json"));
}

TEST_F(Files, HitsThatAreNotShownAreNotExportedAndThatIsSaid) {
  ASSERT_TRUE(open({training_trace(0).write(path("trace.json"))}));
  FindPane& pane = tables().find();
  QSignalSpy shown(&pane, &FindPane::shown);
  show_tab("Find");
  state().find(QStringLiteral("gemm"));
  while (pane.table().hits().rowCount() == 0) ASSERT_TRUE(shown.wait(kLoadLimitMs));
  pane.table().show_hits(
      state().shared_session(),
      std::make_shared<const std::vector<SliceRef>>(HitsModel::kMostShown + 7, slice(0, "gemm")));
  QTimer::singleShot(0, [] {
    auto* dialog = qobject_cast<QDialog*>(QApplication::activeModalWidget());
    ASSERT_NE(dialog, nullptr);
    dialog->accept();
  });
  pane.table().actions().back()->trigger();
  EXPECT_TRUE(QFile::exists(QString::fromStdString(path("trace.find.csv"))));
  EXPECT_TRUE(some_label_says("trace.find.csv, without the last 7 hits"));
}

TEST_F(Files, WindowsOfOneRankAreNoRanks) {
  open_two_ranks();
  EXPECT_TRUE(some_label_says("2 ranks · "));
  write_trace();
  training_trace(0).write(path("later.pt.trace.json"));
  ASSERT_TRUE(open({folder_.path()}));
  EXPECT_TRUE(some_label_says("2 traces · "));
}

TEST_F(Files, WhichFileOfAFolderIsLeftOutIsSaid) {
  write_trace();
  std::ofstream(path("rank1.pt.trace.json")) << "no trace";
  ASSERT_TRUE(open({folder_.path()}));
  EXPECT_EQ(state().session().traces().size(), 1U);
  EXPECT_TRUE(some_label_says(("left out: " + path("rank1.pt.trace.json")).c_str()));
  EXPECT_EQ(window_.folder().toStdString(), folder_.path()) << "dialogs start there";
  EXPECT_TRUE(loads([this] {
    window_.open({path("rank0.pt.trace.json")});
    EXPECT_EQ(window_.folder().toStdString(), folder_.path());
  }));
}

TEST_F(Files, APictureOfTheWindow) {
  open_two_ranks();
  EXPECT_EQ(window_.export_to(path("w.png"), ExportKind::kPng), std::nullopt);
  EXPECT_EQ(QImage(path("w.png").c_str()).size(), window_.size());
}

TEST_F(Files, AFullDiskLeavesTheFilesThatWereThere) {
  const std::string trace = write_trace(), picture = path("w.png"), view = trace + ".view";
  show_analysed(window_, *load_session({trace}));
  ASSERT_EQ(window_.export_to(picture, ExportKind::kPng), std::nullopt);
  window_.save_view();
  const QByteArray picture_before = content(picture), view_before = content(view);
  std::optional<std::string> problem;
  {
    const testing::FullDisk disk(20);
    problem = window_.export_to(picture, ExportKind::kPng);
    state().set_mark(9'000, "made");
    window_.save_view();
  }
  EXPECT_EQ(problem, picture + ": File too large. Name another file.");
  EXPECT_TRUE(some_label_says((view + ": File too large").c_str()));
  EXPECT_EQ(content(picture), picture_before);
  EXPECT_EQ(content(view), view_before);
}

TEST_F(Files, AViewComesBackWithItsTrace) {
  const std::string trace = write_trace();
  show_analysed(window_, *load_session({trace}));
  const SliceRef gemm = slice_named(state().session(), 0, "gemm");
  state().go_to(gemm);
  QTest::keyClick(&lanes(), Qt::Key_M);
  QTest::keyClick(&lanes(), Qt::Key_P);
  const TimeRange range = state().axis().range();
  QTest::keyClick(&lanes(), Qt::Key_S, Qt::ControlModifier);
  EXPECT_TRUE(some_label_says("view saved"));

  MainWindow other(Theme::light());
  other.resize(window_.size());
  other.show();
  show_analysed(other, *load_session({trace}));
  EXPECT_EQ(other.state().axis().range(), range);
  ASSERT_EQ(other.state().marks().size(), 1U);
  EXPECT_EQ(other.state().marks()[0].note, "gemm");
  EXPECT_GT(other.state().layout().pinned_height(), 0);
}

TEST_F(Files, ABrokenViewIsSaidAndTheTraceShown) {
  const std::string trace = write_trace();
  std::ofstream(trace + ".view") << "{";
  window_.show_session(*load_session({trace}));
  EXPECT_TRUE(some_label_says("rank0.pt.trace.json.view"));
  EXPECT_EQ(state().session().traces().size(), 1U);
}

TEST_F(Files, MarksAreSetAndTakenAway) {
  open_two_ranks();
  state().select(slice_named(state().session(), 1, "gemm"));
  QTest::keyClick(&lanes(), Qt::Key_M);
  ASSERT_EQ(state().marks().size(), 1U);
  QTest::keyClick(&lanes(), Qt::Key_M, Qt::ShiftModifier);
  EXPECT_EQ(state().marks().size(), 1U) << "Shift + M is no key of ours";
  auto* ruler = window_.findChild<RulerView*>();
  const int x = static_cast<int>(state().axis().x_of(state().marks()[0].time_ns)) + 3;
  EXPECT_EQ(ruler->grab().toImage().pixel(x - 2, 4), Theme::light().graph.rgb());
  QTest::mouseDClick(ruler, Qt::LeftButton, {}, {x, 6});
  EXPECT_TRUE(state().marks().empty());
}

TEST_F(Files, UnfoldedCountersAndTheScrollComeBackWithTheView) {
  TestTrace counted = training_trace(0);
  for (int i = 0; i < 12; ++i) {
    counted.raw(
        fmt::format(R"({{"ph":"C","name":"load {}","pid":100,"ts":1000001,"args":{{"n":1}}}})", i));
  }
  const std::string trace = counted.write(path("rank0.pt.trace.json"));
  const auto show = [&trace](MainWindow& window) {
    window.resize(1200, 420);
    window.show();
    QCoreApplication::processEvents();
    show_analysed(window, *load_session({trace}));
  };
  show(window_);
  const Row counters = state().layout().rows().back();
  ASSERT_TRUE(counters.is_header() && counters.folded) << "so many are folded at first";
  state().toggle(counters.id);
  state().set_scroll(state().layout().height());
  window_.save_view();

  MainWindow other(Theme::light());
  show(other);
  EXPECT_EQ(other.state().layout().height(), state().layout().height());
  EXPECT_EQ(other.state().scroll(), state().scroll());
}

TEST_F(Files, ASavedViewComesBackToWhatWasMadeOfTheFirstLanes) {
  const std::string trace = write_trace();
  SavedView saved;
  saved.range = {0, 50'000};
  saved.search = "gemm";
  saved.marks = {{7'000, "saved"}};
  ASSERT_EQ(write_view(trace + ".view", saved), std::nullopt);
  LoadedSession first = *load_session({trace});
  first.is_whole = false;
  window_.show_session(first);
  QTest::keyClick(&lanes(), Qt::Key_W);
  state().set_mark(9'000, "made");
  const TimeRange range = state().axis().range();
  window_.show_session(*load_session({trace}));
  EXPECT_EQ(state().axis().range(), range) << "the zoom made meanwhile stays";
  EXPECT_EQ(state().search().text(), "gemm");
  ASSERT_EQ(state().marks().size(), 2U);
  EXPECT_EQ(state().marks()[0].note, "saved");
  EXPECT_EQ(state().marks()[1].note, "made");
}

TEST_F(Files, MarksOfAFolderStandAtTheirTimesInAPartOfIt) {
  std::vector<std::string> ranks;
  for (const int rank : {0, 1, 2}) {
    ranks.push_back(training_trace(rank, 1'000'000 + rank * 10)
                        .write(path(fmt::format("rank{}.pt.trace.json", rank))));
  }
  window_.show_session(*load_session(ranks));
  state().set_mark(state().session().range_of(slice_named(state().session(), 1, "gemm")).begin_ns,
                   "gemm");
  state().set_range({20'000, 90'000});
  window_.save_view();
  window_.show_session(*load_session({ranks[1], ranks[2]}));
  ASSERT_EQ(state().marks().size(), 1U);
  EXPECT_EQ(state().marks()[0].time_ns,
            state().session().range_of(slice_named(state().session(), 0, "gemm")).begin_ns);
  EXPECT_EQ(state().axis().range(), (TimeRange{10'000, 80'000}));
}

}  // namespace
}  // namespace redline::viewer
