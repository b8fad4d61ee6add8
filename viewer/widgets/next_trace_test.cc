// What was open before leaves nothing behind: a trace that is opened second looks as if it had been
// opened alone.
#include <filesystem>

#include "tests/training_run.h"
#include "viewer/widgets/window_fixture.h"

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

/// The pictures of the timeline at some zooms.
using Looks = std::vector<QImage>;

class NextTrace : public ::testing::Test {
 protected:
  NextTrace() { QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, folder_.path()); }

  static std::unique_ptr<MainWindow> make_window() {
    auto window = std::make_unique<MainWindow>(Theme::light());
    window->resize(1200, 800);
    window->show();
    EXPECT_TRUE(QTest::qWaitForWindowExposed(window.get()));
    return window;
  }
  static void show(MainWindow& window, const Opened& what) {
    window.show_session(what.loaded);
    window.show_analysis(what.analysed);
    window.settle();
  }
  static Looks looks_of(MainWindow& window) {
    Looks looks;
    const TimeRange all = window.state().session().range();
    for (const int64_t share : {0, 1, 20, 300}) {
      if (share > 0) {
        const int64_t middle = saturating_sum(all.begin_ns, all.span_ns() / 2);
        window.state().set_range({middle, saturating_sum(middle, all.span_ns() / share + 1)});
      }
      looks.push_back(window.timeline().grab().toImage());
    }
    return looks;
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
        (void)looks_of(*window);
        show(*window, all[second]);
        const Looks looks = looks_of(*window);
        for (size_t i = 0; i < looks.size(); ++i) {
          EXPECT_TRUE(looks[i] == alone[second][i])
              << first << ", then " << second << ", picture " << i;
        }
      }
    }
  }

  QTemporaryDir folder_;
};

TEST_F(NextTrace, LooksAsIfItWereOpenedAlone) {
  expect_no_traces_of_each_other({opened(TrainingRun(0, 2000, 2000).read()),
                                  opened(TrainingRun(0, 900, 2900, testing::kB200Graph).read()),
                                  opened(TrainingRun(1, 500, 500, testing::kMi300x).read()),
                                  opened(training_trace(1).read())});
}

TEST_F(NextTrace, AmongRealOnesToo) {
  const std::filesystem::path folder(std::string(REDLINE_SHARED_DIR) + "/traces");
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
