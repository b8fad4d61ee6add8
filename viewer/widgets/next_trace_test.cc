// What was open before leaves nothing behind: a trace that is opened second looks as if it had been
// opened alone.
#include <QAbstractItemView>
#include <QLineEdit>
#include <filesystem>

#include "tests/paths.h"
#include "tests/training_run.h"
#include "viewer/widgets/testing_window.h"

namespace redline::viewer {
namespace {

using testing::TrainingRun;

struct Opened {
  LoadedSession loaded;
  AnalysedSession analysed;
};

Opened opened(std::shared_ptr<const trace::Trace> trace) {
  LoadedSession session = loaded({std::move(trace)});
  AnalysedSession analysed = analyse_session(*session.session);
  return {std::move(session), std::move(analysed)};
}

/// The pictures of the window at some zooms, and all that the panes and tables say.
struct Looks {
  std::vector<QImage> pictures;
  QStringList words;
};

class NextTrace : public ::testing::Test {
 protected:
  NextTrace() { QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, folder_.path()); }

  static std::unique_ptr<MainWindow> make_window() {
    auto window = std::make_unique<MainWindow>(Theme::light());
    window->resize(1200, 800);
    // Qt fades these buttons; one that fades out while it still fades in may stay half seen.
    for (QLineEdit* field : window->findChildren<QLineEdit*>()) field->setClearButtonEnabled(false);
    window->show();
    EXPECT_TRUE(QTest::qWaitForWindowActive(window.get(), kLoadLimitMs))
        << "its focus is part of the picture";
    return window;
  }
  static void show(MainWindow& window, const Opened& what) {
    window.show_session(what.loaded);
    window.show_analysis(what.analysed);
    window.settle();
  }
  static void add_words_of_table(const QAbstractItemView& view, QStringList& words) {
    const QAbstractItemModel& model = *view.model();
    for (int column = 0; column < model.columnCount(); ++column) {
      words << model.headerData(column, Qt::Horizontal).toString();
      for (int row = 0; row < model.rowCount(); ++row) {
        words << model.index(row, column).data().toString();
      }
    }
  }
  static QStringList words_of(MainWindow& window) {
    QStringList words;
    for (const QTabWidget* tabs : window.findChildren<QTabWidget*>()) {
      for (int i = 0; i < tabs->count(); ++i) {
        if (tabs->isTabVisible(i)) words << tabs->tabText(i);
      }
      words << "shown: " + tabs->tabText(tabs->currentIndex());
    }
    for (const QAbstractItemView* view : window.findChildren<QAbstractItemView*>()) {
      if (view->model()) add_words_of_table(*view, words);
    }
    for (const QLabel* label : window.findChildren<QLabel*>()) {
      if (!label->isHidden()) words << label->text();
    }
    for (const QLineEdit* field : window.findChildren<QLineEdit*>()) words << field->text();
    words.sort();  // layouts change the order of their labels when they show them
    return words;
  }
  static Looks looks_of(MainWindow& window) {
    Looks looks;
    looks.words = words_of(window);
    const TimeRange all = window.state().session().range();
    for (const int64_t share : {0, 1, 20, 300}) {
      if (share > 0) {
        const int64_t middle = saturating_sum(all.begin_ns, all.span_ns() / 2);
        window.state().set_range({middle, saturating_sum(middle, all.span_ns() / share + 1)});
      }
      looks.pictures.push_back(window.grab().toImage());
    }
    return looks;
  }
  /// Searches, filters and selects, and looks at all of it.
  static void use(MainWindow& window) {
    window.state().find("aten");
    window.state().find_next();
    window.state().select_area_of_slice();
    for (QLineEdit* field : window.findChildren<QLineEdit*>()) {
      if (field->isVisible()) QTest::keyClicks(field, "aten");
    }
    // Each table has a filter of its own, which a field beside the tabs changes.
    auto& tables = *window.findChild<TablesPane*>();
    auto& filter = *tables.findChild<QLineEdit*>();
    for (int i = 0; i < tables.count(); ++i) {
      if (!tables.isTabVisible(i)) continue;
      tables.setCurrentIndex(i);
      if (!filter.isVisible()) continue;
      QTest::keyClicks(&filter, "no row has this");
      EXPECT_TRUE(tables.current_table().rows.empty());
    }
    window.settle();
    (void)looks_of(window);
  }
  static void expect_no_traces_of_each_other(const std::vector<Opened>& all) {
    std::vector<Looks> alone;
    for (const Opened& one : all) {
      const auto window = make_window();
      show(*window, one);
      alone.push_back(looks_of(*window));
    }
    for (size_t first = 0; first < all.size(); ++first) {
      for (size_t second = 0; second < all.size(); ++second) {
        const auto window = make_window();
        show(*window, all[first]);
        use(*window);
        show(*window, all[second]);
        const Looks looks = looks_of(*window);
        EXPECT_EQ(looks.words.join("\n").toStdString(),
                  alone[second].words.join("\n").toStdString())
            << first << ", then " << second;
        for (size_t i = 0; i < looks.pictures.size(); ++i) {
          EXPECT_TRUE(looks.pictures[i] == alone[second].pictures[i])
              << first << ", then " << second << ", picture " << i;
        }
      }
    }
  }

  QTemporaryDir folder_;
};

TEST_F(NextTrace, WhatWasFoundBeforeIsLetGo) {
  const auto window = make_window();
  std::weak_ptr<const Session> first;
  {
    const Opened what = opened(training_trace(0).read());
    first = what.loaded.session;
    show(*window, what);
    ASSERT_TRUE(window->show_tab("Find"));
    window->state().find("gemm");
    window->settle();
    ASSERT_TRUE(window->show_tab("Kernels"));
  }
  show(*window, opened(training_trace(1).read()));
  EXPECT_TRUE(first.expired());
}

TEST_F(NextTrace, LooksAsIfItWereOpenedAlone) {
  expect_no_traces_of_each_other({opened(TrainingRun(0, 2000, 2000).read()),
                                  opened(TrainingRun(0, 900, 2900, testing::kB200Graph).read()),
                                  opened(TrainingRun(1, 500, 500, testing::kMi300x).read()),
                                  opened(training_trace(1).read())});
}

TEST_F(NextTrace, AmongRealOnesToo) {
  const std::filesystem::path folder(redline::testing::shared_dir() + "/traces");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no shared traces at " << folder;
  std::vector<Opened> all;
  for (const char* name :
       {"ddp_v100_memory_rank1", "alexnet_a100", "bert_small_h100", "resnet50_v100_workers0"}) {
    all.push_back(opened(*trace::read_trace(folder / (std::string(name) + ".pt.trace.json.gz"))));
  }
  expect_no_traces_of_each_other(all);
}

}  // namespace
}  // namespace redline::viewer
