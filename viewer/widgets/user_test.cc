// What a user does in several parts of the window: measuring, reading files again, setting clocks,
// opening recent files, looking at arguments.
#include <QInputDialog>
#include <QMenu>
#include <QPlainTextEdit>
#include <QScreen>
#include <QSplitter>
#include <QTimer>
#include <filesystem>
#include <set>

#include "viewer/models/format.h"
#include "viewer/widgets/controls.h"
#include "viewer/widgets/overview_strip.h"
#include "viewer/widgets/screenshot.h"
#include "viewer/widgets/testing_window.h"
#include "viewer/widgets/user_settings.h"

namespace redline::viewer {
namespace {

class User : public Window {
 protected:
  /// Appends the number of slices to `counts` whenever another session is shown.
  void connect_counts(std::vector<size_t>& counts) {
    QObject::connect(&state(), &ViewState::session_changed, &window_, [this, &counts] {
      counts.push_back(state().session().traces().front().trace->slice_count());
    });
  }
  /// A rank whose clock is ahead by `ahead_us`, which its collectives show.
  static TestTrace rank_of(int rank, double ahead_us) {
    TestTrace trace(rank);
    for (int i = 0; i < 10; ++i) {
      const double end = 100.0 * (i + 1) + ahead_us;
      const double length = 20 + 3 * ((i + rank) % 4);
      trace.slice("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 0, 20, end - length, length,
                  fmt::format(R"({{"device":0,"stream":20,"Collective name":"allreduce",)"
                              R"("Process Group Name":"0","Seq":{}}})",
                              i));
    }
    return trace;
  }
};

TEST_F(User, TheFirstLanesAreThereBeforeTheRest) {
  TestTrace trace(0);
  constexpr int kKernels = 20'000;
  for (int i = 0; i < kKernels; ++i) trace.kernel("k" + std::to_string(i % 7), 7, i * 10.0, 5);
  window_.loader().set_first_look({.least_bytes = 1 << 20, .share = 8});
  std::vector<size_t> shown;
  connect_counts(shown);
  ASSERT_TRUE(open({trace.write(path("long.pt.trace.json"))}));
  ASSERT_EQ(shown.size(), 2U) << "the first lanes, then all";
  EXPECT_GT(shown[0], 100U);
  EXPECT_LT(shown[0], kKernels / 4);
  EXPECT_EQ(shown[1], kKernels);
  EXPECT_TRUE(some_label_says("loaded in"));
}

TEST_F(User, ReadingSaysHowLongItWillStillTake) {
  for (const QProgressBar* bar : window_.findChildren<QProgressBar*>()) {
    const auto says = [&] {
      emit window_.loader().progress(20, 100);
      return bar->text().contains(" left of this file");
    };
    EXPECT_TRUE(QTest::qWaitFor(says, kLoadLimitMs)) << "also beside the first lanes";
  }
}

TEST_F(User, WhatIsMadeOfTheFirstLanesStays) {
  TestTrace late(0), whole(0);
  late.kernel("k", 7, 5'000, 100);
  whole.kernel("k", 7, 1'000, 100);  // stands behind the other in the file, but begins first
  whole.kernel("k", 7, 5'000, 100);
  LoadedSession first = loaded({late.read()});
  first.is_whole = false;
  window_.show_session(first);
  EXPECT_TRUE(some_label_says("reading the rest"));
  QTest::keyClick(&lanes(), Qt::Key_W);
  state().set_mark(0, "here");
  const TimeRange range = state().axis().range();
  window_.show_session(loaded({whole.read()}));
  EXPECT_EQ(state().axis().range().begin_ns, range.begin_ns + 4'000'000) << "the same time";
  EXPECT_EQ(state().axis().span_ns, range.span_ns());
  ASSERT_EQ(state().marks().size(), 1U);
  EXPECT_EQ(state().marks()[0].time_ns, 4'000'000);
  EXPECT_FALSE(some_label_says("reading the rest"));
}

TEST_F(User, ADragOnTheRulerMeasures) {
  open_two_ranks();
  auto* ruler = window_.findChild<RulerView*>();
  const TimeRange shown = state().axis().range();
  QTest::mousePress(ruler, Qt::LeftButton, {}, {100, 8});
  QTest::mouseMove(ruler, {300, 8});
  QTest::mouseRelease(ruler, Qt::LeftButton, {}, {300, 8});
  EXPECT_EQ(state().axis().range(), shown) << "a drag here does not move";
  EXPECT_EQ(state().area().range.begin_ns, state().axis().time_at(100));
  EXPECT_EQ(state().area().range.end_ns, state().axis().time_at(300));
  EXPECT_EQ(state().area().lanes.size(), state().session().lane_count()) << "of all lanes";
}

TEST_F(User, AMarkCarriesANoteInTheUsersWords) {
  open_two_ranks();
  const auto answer = [this](const QString& note) {
    auto* dialog = window_.findChild<QInputDialog*>();
    ASSERT_NE(dialog, nullptr);
    dialog->setTextValue(note);
    dialog->accept();
    QCoreApplication::sendPostedEvents(dialog, QEvent::DeferredDelete);
  };
  state().select(slice_named(state().session(), 0, "gemm"));
  QTest::keyClick(&lanes(), Qt::Key_N);
  ASSERT_NE(window_.findChild<QInputDialog*>(), nullptr);
  EXPECT_EQ(window_.findChild<QInputDialog*>()->textValue(), "gemm") << "to begin with";
  answer("slow since Monday");
  ASSERT_EQ(state().marks().size(), 1U);
  EXPECT_EQ(state().marks()[0].note, "slow since Monday");
  EXPECT_EQ(state().marks()[0].time_ns, state().session().range_of(state().selection()).begin_ns);

  auto* ruler = window_.findChild<RulerView*>();
  const double x = state().axis().x_of(state().marks()[0].time_ns);
  const QPoint on_its_words(static_cast<int>(x) + 60, 8);
  QContextMenuEvent ask(QContextMenuEvent::Mouse, on_its_words, ruler->mapToGlobal(on_its_words));
  QApplication::sendEvent(ruler, &ask);
  auto* menu = ruler->findChild<QMenu*>();
  ASSERT_NE(menu, nullptr);
  menu->actions()[0]->trigger();
  menu->close();
  ASSERT_NE(window_.findChild<QInputDialog*>(), nullptr);
  EXPECT_EQ(window_.findChild<QInputDialog*>()->textValue(), "slow since Monday");
  answer("slow since Tuesday");
  ASSERT_EQ(state().saved_view().marks.size(), 1U);
  EXPECT_EQ(state().saved_view().marks[0].note, "slow since Tuesday");
  QTest::mouseDClick(ruler, Qt::LeftButton, {}, on_its_words);
  EXPECT_TRUE(state().marks().empty());
}

TEST_F(User, ClocksAreSetRightAndBack) {
  const LoadedSession session = loaded({rank_of(0, 0).read(), rank_of(1, 40).read()});
  window_.show_session(session);
  EXPECT_EQ(button("clocks"), nullptr) << "not known yet";
  window_.show_analysis(analyse_session(*session.session));
  const SliceRef last{1, {9}};
  const int64_t recorded_ns = state().session().range_of(last).end_ns;
  state().select(last);
  QTest::keyClick(&lanes(), Qt::Key_C);
  ASSERT_NE(button("clocks set right: rank 1 by -40.0 µs"), nullptr);
  EXPECT_NEAR(static_cast<double>(state().session().range_of(last).end_ns),
              static_cast<double>(recorded_ns - 40'000), 100);
  EXPECT_EQ(state().selection(), last) << "the view stays as it was";
  QTest::mouseClick(button("clocks set"), Qt::LeftButton);
  EXPECT_EQ(state().session().range_of(last).end_ns, recorded_ns);
  EXPECT_NE(button("clocks as recorded, to set right: rank 1 by -40.0 µs ± "), nullptr);
}

TEST_F(User, WhatIsMadeOfATraceStaysWhenItsFileIsReadAgain) {
  TestTrace trace = training_trace(0);
  ASSERT_TRUE(open({trace.write(path("t.json"))}));
  state().set_mark(5'000, "slow");
  state().set_range({10'000, 90'000});
  state().find("gemm");
  state().rearrange([](Layout& layout) { layout.set_pinned({1, 0}, true); });
  trace.kernel("earlier", 7, -50, 10);
  trace.write(path("t.json"));
  ASSERT_TRUE(read_again());
  EXPECT_EQ(state().marks(), (std::vector<Mark>{{55'000, "slow"}})) << "at the same unix time";
  EXPECT_EQ(state().axis().range(), (TimeRange{60'000, 140'000}));
  EXPECT_EQ(state().search().text(), "gemm");
  EXPECT_GT(state().layout().pinned_height(), 0);

  training_trace(0, 5'000'000).write(path("t.json"));
  ASSERT_TRUE(read_again());
  EXPECT_TRUE(state().marks().empty()) << "another recording of that name";
}

TEST_F(User, TimesBeforeTheAlignedStepAreToldAsSuch) {
  const trace::Traces runs{training_trace(0).read(), training_trace(0).read()};
  const auto session = std::make_shared<const Session>(runs, 1);
  show_analysed(window_, {session, 0.01});
  state().select(slice_named(*session, 1, "aten::linear"));
  EXPECT_TRUE(some_label_says("aten::linear · 30.0 µs at -70.0 µs"));
  EXPECT_TRUE(lanes().accessibleDescription().contains("at -70.0 µs"));
  state().set_range({-60'000, 10'000});
  EXPECT_TRUE(window_.findChild<RulerView*>()->accessibleDescription().endsWith("from -60.0 µs"));
  state().select_time({-60'000, 10'000});
  window_.settle();
  EXPECT_TRUE(some_label_says("from -60.0 µs · "));
}

TEST_F(User, WithTheClocksWhatIsShownStays) {
  show_analysed(window_, loaded({rank_of(0, 0).read(), rank_of(1, 40).read()}));
  const SliceRef last{1, {9}};
  const QPointF at = centre_of(last);
  state().select(last);
  state().select_area(at - QPointF(9, 1), at + QPointF(9, 1));
  const Area area = state().area();
  ASSERT_EQ(area.lanes.size(), 1U);
  const ChosenStep step{{1, 5, 9}, "a step"};
  state().choose_step(step);
  ASSERT_TRUE(tables().current_view());
  tables().current_view()->set_filter("nccl");
  QTest::keyClick(&lanes(), Qt::Key_C);
  EXPECT_NEAR(static_cast<double>(state().area().range.begin_ns),
              static_cast<double>(area.range.begin_ns - 40'000), 100)
      << "with the slices in it";
  EXPECT_EQ(state().area().lanes.size(), 1U);
  EXPECT_EQ(state().chosen_step(), step);
  EXPECT_EQ(tables().current_view()->filter(), "nccl");
  EXPECT_EQ(state().selection(), last);
  const std::string start = format_time(state().session().range_of(last).begin_ns);
  EXPECT_TRUE(some_label_says(QString::fromStdString(start))) << start;
}

TEST_F(User, WithTheClocksWhatIsMadeOfARankGoesAlongWithIt) {
  show_analysed(window_, loaded({rank_of(0, 0).read(), rank_of(1, 40).read()}));
  const SliceRef last{1, {9}};
  const auto range = [&] { return state().session().range_of(last); };
  const auto press = [this](Qt::Key key) { QTest::keyClick(&lanes(), key); };
  state().select(last);
  press(Qt::Key_M);
  press(Qt::Key_R);
  const TimeRange recorded = range();
  press(Qt::Key_C);
  ASSERT_NE(range(), recorded);
  ASSERT_EQ(state().marks().size(), 1U);
  EXPECT_EQ(state().marks()[0].time_ns, range().begin_ns);
  EXPECT_EQ(state().area().range, range());
  press(Qt::Key_M);
  EXPECT_TRUE(state().marks().empty()) << "it is this slice's";
  const int64_t begin_ns = state().session().traces()[1].origin_ns + range().begin_ns;
  state().go_to_time({1, begin_ns, begin_ns});
  EXPECT_EQ(state().moment(), range().begin_ns);
  press(Qt::Key_C);
  EXPECT_EQ(range(), recorded);
  EXPECT_EQ(state().moment(), recorded.begin_ns);
}

TEST_F(User, AMarkStaysAtItsSliceWhenItsViewIsBroughtBack) {
  const std::vector<std::string> files{rank_of(0, 0).write(path("rank0.pt.trace.json")),
                                       rank_of(1, 40).write(path("rank1.pt.trace.json"))};
  const SliceRef last{1, {9}};
  const auto has_clocks = [this] { return button("clocks") != nullptr; };
  const auto expect_mark_at_slice = [&last](const ViewState& state) {
    ASSERT_EQ(state.marks().size(), 1U);
    EXPECT_EQ(state.marks()[0].time_ns, state.session().range_of(last).begin_ns);
    EXPECT_EQ(state.marks()[0].trace, 1U);
  };
  ASSERT_TRUE(open(files));
  ASSERT_TRUE(QTest::qWaitFor(has_clocks, kLoadLimitMs));
  QTest::keyClick(&lanes(), Qt::Key_C);
  state().select(last);
  QTest::keyClick(&lanes(), Qt::Key_M);
  expect_mark_at_slice(state());
  window_.save_view();
  ASSERT_TRUE(read_again());
  expect_mark_at_slice(state());
  ASSERT_TRUE(QTest::qWaitFor(has_clocks, kLoadLimitMs));
  QTest::keyClick(&lanes(), Qt::Key_C);
  expect_mark_at_slice(state());

  MainWindow other(Theme::light());
  other.show_session(*load_session(files));
  expect_mark_at_slice(other.state());
}

TEST_F(User, ClocksThatAreSetStaySoWhenTheirFilesAreReadAgain) {
  const auto write = [this](const std::string& name) {
    return std::vector<std::string>{rank_of(0, 0).write(path(name + "0.pt.trace.json")),
                                    rank_of(1, 40).write(path(name + "1.pt.trace.json"))};
  };
  const SliceRef last{1, {9}};
  const auto begin_ns = [&] { return state().session().range_of(last).begin_ns; };
  const auto says = [this](const char* words) {
    return QTest::qWaitFor([&] { return button(words) != nullptr; }, kLoadLimitMs);
  };
  ASSERT_TRUE(open(write("rank")));
  ASSERT_TRUE(says("clocks as recorded"));
  const int64_t recorded_ns = begin_ns();
  QTest::keyClick(&lanes(), Qt::Key_C);
  const int64_t set_ns = begin_ns();
  ASSERT_NE(set_ns, recorded_ns);
  state().set_mark(set_ns, "slow", 1);
  ASSERT_TRUE(read_again());
  ASSERT_TRUE(says("clocks set right"));
  EXPECT_EQ(begin_ns(), set_ns);
  ASSERT_EQ(state().marks().size(), 1U);
  EXPECT_EQ(state().marks()[0].time_ns, set_ns);

  LoadedSession first_lanes = loaded({training_trace(0).read()});
  first_lanes.is_whole = false;
  EXPECT_FALSE(open({path("nothing.json")}));
  window_.show_session(first_lanes);
  QTest::keyClick(&lanes(), Qt::Key_Escape);
  EXPECT_TRUE(says("clocks set right")) << "of what was open before";
  EXPECT_EQ(begin_ns(), set_ns);
  EXPECT_EQ(state().marks()[0].time_ns, set_ns);

  ASSERT_TRUE(open(write("other")));
  ASSERT_TRUE(says("clocks as recorded"));
  EXPECT_EQ(begin_ns(), recorded_ns);
}

TEST_F(User, OfFlagsThatOverlapTheOneOnTopIsMeant) {
  open_two_ranks();
  state().set_mark(state().axis().time_at(300), "beneath");
  state().set_mark(state().axis().time_at(305), "on top");
  QTest::mouseDClick(window_.findChild<RulerView*>(), Qt::LeftButton, {}, {307, 8});
  ASSERT_EQ(state().marks().size(), 1U);
  EXPECT_EQ(state().marks()[0].note, "beneath");
}

TEST_F(User, AFileThatGrewIsReadAgain) {
  TestTrace trace = training_trace(0);
  ASSERT_TRUE(open({trace.write(path("t.json"))}));
  const uint64_t events = state().session().event_count();
  trace.kernel("new", 7, 500, 10);
  trace.write(path("t.json"));
  ASSERT_TRUE(read_again());
  EXPECT_EQ(state().session().event_count(), events + 1);

  std::filesystem::remove(path("t.json"));
  QSignalSpy failed(&window_, &MainWindow::failed);
  QTest::keyClick(&window_, Qt::Key_F5);
  ASSERT_TRUE(failed.wait(kLoadLimitMs));
  EXPECT_TRUE(some_label_says("t.json: No such file")) << "it has vanished";
}

TEST_F(User, WhatWasOpenedIsOfferedAgain) {
  ASSERT_TRUE(open({training_trace(0).write(path("rank0.pt.trace.json"))}));
  ASSERT_EQ(recent_files().size(), 1);
  MainWindow next(Theme::light());
  next.show();
  QSignalSpy loaded(&next, &MainWindow::loaded);
  QPushButton* link = nullptr;
  for (QPushButton* one : next.findChildren<QPushButton*>()) {
    if (one->text() == "rank0.pt.trace.json") link = one;
  }
  ASSERT_NE(link, nullptr);
  QTest::mouseClick(link, Qt::LeftButton);
  ASSERT_TRUE(loaded.wait(kLoadLimitMs));
  EXPECT_EQ(next.state().session().traces().size(), 1U);
  std::filesystem::remove(path("rank0.pt.trace.json"));
  EXPECT_TRUE(recent_files().isEmpty()) << "what is gone is not offered";
}

TEST_F(User, AFolderIsOfferedByItsNameHoweverItWasNamed) {
  for (const char* end : {"/", "", "/."}) remember_files({folder_.path() + end});
  ASSERT_EQ(recent_files().size(), 1);
  EXPECT_EQ(recent_title(recent_files()[0]).toStdString(),
            std::filesystem::path(folder_.path()).filename());
}

TEST_F(User, ControlCharactersInTheNameOfARecentFileAreNotObeyed) {
  remember_files({training_trace(0).write(path("a\x1b[1m\u202e.json"))});
  MainWindow next(Theme::light());
  next.show();
  QString tooltip;
  for (const ElidedButton* link : next.findChildren<ElidedButton*>()) {
    if (link->text() == "a\ufffd[1m\ufffd.json") tooltip = link->toolTip();
  }
  EXPECT_EQ(tooltip.toStdString(), path("a\ufffd[1m\ufffd.json"));
}

TEST_F(User, ARecentFileWithALongNameDoesNotWidenTheWindow) {
  const std::string name(240, 'x');
  remember_files({training_trace(0).write(path(name))});
  MainWindow next(Theme::light());
  next.resize(1000, 700);
  next.show();
  QCoreApplication::processEvents();
  EXPECT_EQ(next.width(), 1000);
  for (const ElidedButton* link : next.findChildren<ElidedButton*>()) {
    if (!link->text().startsWith("xxx")) continue;
    EXPECT_LT(link->width(), 1000);
    EXPECT_EQ(link->tooltip_words().toStdString(), name + "\n" + path(name));
    return;
  }
  FAIL() << "no link";
}

TEST_F(User, TheWindowFitsItsScreenAndIsDividedAsLastTime) {
  open_two_ranks();
  window_.resize(9000, 9000);
  window_.keep_places();
  EXPECT_LE(window_.width(), window_.screen()->availableSize().width());
  EXPECT_LE(window_.height(), window_.screen()->availableSize().height());
  auto* tables = window_.findChild<QSplitter*>("tables");
  const QList<int> before = tables->sizes();
  QSplitterHandle* handle = tables->handle(1);
  QTest::mousePress(handle, Qt::LeftButton, {}, {200, 0});
  QTest::mouseMove(handle, {200, -60});
  QTest::mouseRelease(handle, Qt::LeftButton, {}, {200, -60});
  const QList<int> divided = tables->sizes();
  EXPECT_GT(divided[1], before[1] + 40);
  MainWindow next(Theme::light());
  next.resize(window_.size());
  next.keep_places();
  next.show();
  next.show_session(loaded({training_trace(0).read()}));
  EXPECT_TRUE(QTest::qWaitForWindowExposed(&next, kLoadLimitMs));
  EXPECT_EQ(next.findChild<QSplitter*>("tables")->sizes(), divided);
}

TEST_F(User, TheLoadReportIsOneClickAway) {
  open_two_ranks();
  QString words;
  QTimer::singleShot(0, [&] {
    QWidget* dialog = QApplication::activeModalWidget();
    ASSERT_NE(dialog, nullptr);
    words = dialog->findChild<QPlainTextEdit*>()->toPlainText();
    dialog->close();
  });
  QTest::mouseClick(button("38 events"), Qt::LeftButton);
  EXPECT_TRUE(words.contains("/data/run/rank1.pt.trace.json")) << words.toStdString();
  EXPECT_TRUE(words.contains("nothing skipped"));
}

TEST_F(User, ArgumentsAreSearchedBesideTheWindow) {
  open_two_ranks();
  QTest::keyClick(&lanes(), Qt::Key_Slash);
  QTest::keyClicks(&window_.search_field(), "args:[4,8]");
  EXPECT_TRUE(QTest::qWaitFor([&] { return !state().search().is_pending(); }, kLoadLimitMs));
  EXPECT_EQ(state().search().count(), 4U);
  EXPECT_TRUE(some_label_says("4 found"));
  QTest::keyClick(&window_.search_field(), Qt::Key_Return);
  EXPECT_EQ(state().session().name_of(state().selection()), "aten::linear");
}

TEST_F(User, OfManySlicesTheHitsAreKnownLaterAndNothingOldIsShown) {
  open_two_ranks();
  state().set_searched_at_once(0);
  QTest::keyClick(&lanes(), Qt::Key_Slash);
  SearchField& field = window_.search_field();
  QTest::keyClicks(&field, "gem");
  EXPECT_TRUE(some_label_says("searching"));
  QTest::keyClick(&field, Qt::Key_Return);
  EXPECT_FALSE(state().selection()) << "not known yet";
  field.selectAll();
  QTest::keyClicks(&field, "nccl");
  QTest::keyClick(&field, Qt::Key_Return);
  std::set<std::string> shown;
  QObject::connect(&state(), &ViewState::search_changed, &window_, [&] {
    if (!state().search().is_pending()) shown.insert(state().search().text());
  });
  ASSERT_TRUE(QTest::qWaitFor([&] { return !state().search().is_pending(); }, kLoadLimitMs));
  EXPECT_EQ(shown, std::set<std::string>{"nccl"}) << "older searches are dropped";
  EXPECT_TRUE(some_label_says("1 of 4")) << "Enter came before the hits, and counts";
  EXPECT_EQ(state().session().name_of(state().selection()), "ncclDevKernel_AllReduce");
  QTest::keyClick(&field, Qt::Key_Return);
  EXPECT_TRUE(some_label_says("2 of 4")) << "at once now";
}

TEST_F(User, ZoomsFromANanosecondToAYear) {
  open_two_ranks();
  constexpr int64_t kYearNs = 365LL * 24 * 3600 * 1'000'000'000;
  for (const int64_t span : {int64_t{1}, int64_t{50}, int64_t{1'000'000}, kYearNs}) {
    state().set_range({-span / 2, span - span / 2});
    EXPECT_FALSE(lanes().grab().isNull()) << span;
    EXPECT_FALSE(window_.findChild<RulerView*>()->grab().isNull()) << span;
  }
  for (int i = 0; i < 200; ++i) QTest::keyClick(&lanes(), Qt::Key_W);
  EXPECT_GE(state().axis().span_ns, 1);
  for (int i = 0; i < 400; ++i) QTest::keyClick(&lanes(), Qt::Key_S);
  QTest::keyClick(&lanes(), Qt::Key_Home);
  EXPECT_FALSE(window_.grab().isNull());
}

TEST_F(User, LabelsOfTheRulerDoNotTouchLateInALongTrace) {
  TestTrace trace(0);
  trace.slice("cpu_op", "aten::mm", 1, 1, 0, 5).slice("cpu_op", "aten::mm", 1, 1, 2.7e11, 5);
  show_analysed(window_, loaded({trace.read()}));
  const auto& ruler = *window_.findChild<RulerView*>();
  const QFontMetrics metrics(ui_font(11));
  const int64_t begin_ns = 260'000'000'000'000;                   // three days
  state().set_range({begin_ns, begin_ns + lanes().width() / 9});  // 90 pixels are 10 ns
  std::vector<int64_t> times;
  for (const Tick& tick : ruler.ticks()) {
    if (tick.label.empty()) continue;
    times.push_back(tick.time_ns - begin_ns);
    const double room = 20 / state().axis().ns_per_pixel();
    EXPECT_LT(metrics.horizontalAdvance(QString::fromStdString(tick.label)), room) << tick.label;
  }
  ASSERT_GE(times.size(), 3U);
  EXPECT_EQ(times[2] - times[1], 20) << "every 10 ns there is no room for their digits";
}

TEST_F(User, NoLabelOfTheRulerIsCutAtItsLeftEdge) {
  open_two_ranks();
  const auto& ruler = *window_.findChild<RulerView*>();
  const int64_t step_ns = ruler.ticks()[1].time_ns - ruler.ticks()[0].time_ns;
  const TimeAxis axis = state().axis();
  const int64_t begin_ns = axis.begin_ns + 10 * step_ns;
  const auto cut = static_cast<int64_t>(10 * axis.ns_per_pixel());  // the tick is 10 pixels out
  state().set_range({begin_ns + cut, begin_ns + cut + axis.span_ns});
  bool has_cut_tick = false;
  for (const Tick& tick : ruler.ticks()) {
    if (state().axis().x_of(tick.time_ns) >= 0) continue;
    has_cut_tick = true;
    EXPECT_EQ(tick.label, "");
  }
  EXPECT_TRUE(has_cut_tick);
}

TEST_F(User, AMarkCoversNoHalfOfALabelOfTheRuler) {
  open_two_ranks();
  const auto& ruler = *window_.findChild<RulerView*>();
  const auto labels = [&ruler] {
    std::vector<std::string> found;
    for (const Tick& tick : ruler.ticks()) {
      if (!tick.label.empty()) found.push_back(tick.label);
    }
    return found;
  };
  const std::vector<std::string> before = labels();
  ASSERT_GE(before.size(), 3U);
  for (const Tick& tick : ruler.ticks()) {
    if (tick.label == before[1]) state().set_mark(tick.time_ns, "here");
  }
  std::vector<std::string> others = before;
  others.erase(others.begin() + 1);
  EXPECT_EQ(labels(), others);
}

TEST_F(User, AUnixTimeOfTheCommandLineIsThatOfTheTraceThatHasIt) {
  constexpr int64_t kFirstUs = 1'790'857'026'000'000, kHourUs = 3'600'000'000;
  const trace::Traces traces{training_trace(0, kFirstUs).read(),
                             training_trace(1, kFirstUs + kHourUs).read()};
  for (const size_t before_count : {0U, 1U}) {  // aligned at the start; two runs
    show_analysed(window_, {std::make_shared<const Session>(traces, before_count), 0.01});
    for (const uint32_t t : {0U, 1U}) {
      const int64_t begin_ns = traces[t]->begin_ns() + 50'000;
      View view;
      view.at_ns = begin_ns;
      view.span_ns = 30'000;
      EXPECT_EQ(apply_view(window_, view), std::nullopt);
      EXPECT_EQ(state().axis().range(),
                state().session().range_of(TimeRef{t, begin_ns, begin_ns + 30'000}));
    }
  }
}

TEST_F(User, ATimeOutsideOfTheRecordingIsSaid) {
  constexpr int64_t kBeginNs = 1'790'857'026'000'000'000;
  show_analysed(window_, loaded({training_trace(0, kBeginNs / 1000).read()}));
  const TimeRange shown = state().axis().range();
  View view;
  view.at_ns = 999'000'000'000;
  EXPECT_EQ(apply_view(window_, view),
            "--at 999000000000: outside of the recording, which is from 0 to 199000");
  view.at_ns = kBeginNs - 1'000'000'000;
  view.span_ns = 1'000;
  EXPECT_EQ(apply_view(window_, view),
            "--at 1790857025000000000: outside of the recording, which is from "
            "1790857026000000000 to 1790857026000199000");
  EXPECT_EQ(state().axis().range(), shown);
}

TEST_F(User, ASpanWithoutATimeIsAroundTheSelectedSlice) {
  show_analysed(window_, loaded({training_trace(0).read()}));
  View view;
  view.select = "gemm";  // from 50 to 75 us
  view.span_ns = 30'000;
  EXPECT_EQ(apply_view(window_, view), std::nullopt);
  EXPECT_EQ(state().axis().range(), (TimeRange{47'500, 77'500}));
}

TEST_F(User, WhatTheCommandLineAsksForIsDoneToTheFirstTraceOnly) {
  apply_to_first(
      window_,
      {.at_ns = 10'000, .span_ns = 30'000, .select = {}, .find = {}, .tab = {}, .saved = {}});
  QSignalSpy failed(&window_, &MainWindow::failed);
  window_.open({path("none.json")});
  ASSERT_TRUE(failed.wait(kLoadLimitMs));
  ASSERT_TRUE(open({training_trace(0).write(path("a.json"))}));
  EXPECT_EQ(state().axis().range(), (TimeRange{10'000, 40'000})) << "a failed load is no trace";
  ASSERT_TRUE(open({training_trace(1).write(path("b.json"))}));
  EXPECT_EQ(state().axis().range(), state().session().range());
}

}  // namespace
}  // namespace redline::viewer
