#include "viewer/frame_bench.h"

#include <sys/resource.h>

#include <QCoreApplication>
#include <QEventLoop>
#include <QTimer>
#include <QWindow>
#include <algorithm>
#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>

#include "viewer/models/search.h"
#include "viewer/widgets/find_pane.h"
#include "viewer/widgets/screenshot.h"

namespace redline::viewer {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kNotShown =
    "the display does not show the window, so there are no frames to measure. Without a display: "
    "QT_QPA_PLATFORM=offscreen";

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double cpu_milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

double percentile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double last = static_cast<double>(values.size() - 1);
  return values[static_cast<size_t>(share * last + 0.5)];
}

uint64_t peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

/// Measures the time that passed, and how much of it this thread worked.
class Lap {
 public:
  [[nodiscard]] double wall_ms() const { return milliseconds_since(start_); }
  [[nodiscard]] double cpu_ms() const { return cpu_milliseconds() - cpu_start_; }

 private:
  Clock::time_point start_ = Clock::now();
  double cpu_start_ = cpu_milliseconds();
};

struct FrameTimes {
  std::vector<double> wall_ms;
  std::vector<double> cpu_ms;
};

/// Zooms from everything down to 100 ns and out again at five places, and pans at each zoom.
template <typename Frame>
void walk(ViewState& state, TimeRange all, const Frame& frame) {
  for (const double place : {0.1, 0.3, 0.5, 0.7, 0.9}) {
    state.set_range(all);
    frame();
    while (state.axis().span_ns > 100) {
      state.zoom(0.7, state.axis().width * place);
      frame();
      state.pan(state.axis().width * 0.05);
      frame();
    }
    for (int i = 0; i < 20; ++i) {
      state.zoom(2.5, state.axis().width * place);
      frame();
    }
  }
}

/// Counts how often a widget is painted: Qt leaves out what the display does not show.
class PaintCount : public QObject {
 public:
  explicit PaintCount(QWidget& widget) { widget.installEventFilter(this); }
  [[nodiscard]] size_t count() const { return count_; }

 protected:
  bool eventFilter(QObject*, QEvent* event) override {
    count_ += event->type() == QEvent::Paint ? 1 : 0;
    return false;
  }

 private:
  size_t count_ = 0;
};

/// An X server shows a window some time after it was asked to.
bool wait_until_shown(const QWidget& window) {
  constexpr double kLimitMs = 10'000;
  const Lap waited;
  while (!window.windowHandle()->isExposed() && waited.wall_ms() < kLimitMs) {
    QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents | QEventLoop::AllEvents, 10);
  }
  return window.windowHandle()->isExposed();
}

/// Times what `paint` does for each frame of the walk.
template <typename Paint>
FrameTimes time_frames(MainWindow& window, TimeRange all, const Paint& paint) {
  FrameTimes times;
  walk(window.state(), all, [&] {
    const Lap lap;
    paint();
    times.cpu_ms.push_back(lap.cpu_ms());
    times.wall_ms.push_back(lap.wall_ms());
  });
  return times;
}

nlohmann::ordered_json json_of(const FrameTimes& times) {
  return {{"p50_ms", percentile(times.wall_ms, 0.5)},
          {"p95_ms", percentile(times.wall_ms, 0.95)},
          {"max_ms", percentile(times.wall_ms, 1)},
          {"p95_cpu_ms", percentile(times.cpu_ms, 0.95)}};
}

/// The slowest times of several searches.
struct SearchTimes {
  double find_ms = 0;     ///< until the hits are known
  double blocked_ms = 0;  ///< the part of it that blocked the window's thread
  double next_ms = 0;
};

SearchTimes time_searches(ViewState& state) {
  SearchTimes times;
  for (const char* text : {"gemm", "aten::", "nccl", "no such name"}) {
    const Lap search;
    state.find(QString::fromLatin1(text));
    times.blocked_ms = std::max(times.blocked_ms, search.wall_ms());
    state.wait();
    times.find_ms = std::max(times.find_ms, search.wall_ms());
    QCoreApplication::processEvents();
    const Lap next;
    (void)state.search().next(state.session(), {});
    times.next_ms = std::max(times.next_ms, next.wall_ms());
  }
  return times;
}

/// How well the window's thread responds while another thread works.
struct Responsiveness {
  double seconds = 0;
  double blocked_ms = 0;      ///< the longest pause between two rounds of events
  double blocked_cpu_ms = 0;  ///< the most that the thread itself worked in a round
};

/// Measures from begin() until `done` is emitted, with a round of events every millisecond.
template <typename Sender, typename Signal, typename Begin>
Responsiveness watch_window(Sender* sender, Signal done, const Begin& begin) {
  Responsiveness result;
  QEventLoop waiting;
  QObject::connect(sender, done, &waiting, &QEventLoop::quit);
  QTimer rounds;
  Lap lap;
  const auto round = [&] {
    result.blocked_ms = std::max(result.blocked_ms, lap.wall_ms());
    result.blocked_cpu_ms = std::max(result.blocked_cpu_ms, lap.cpu_ms());
    lap = {};
  };
  QObject::connect(&rounds, &QTimer::timeout, &waiting, round);
  rounds.start(1);
  const Lap all;
  lap = {};
  begin();
  waiting.exec();
  result.seconds = all.wall_ms() / 1000;
  // Painting the result counts, too.
  QCoreApplication::processEvents();
  round();
  return result;
}

/// The longest that the window's thread works at once when `act` is done and its results come.
template <typename Act>
nlohmann::ordered_json time_hold_up(MainWindow& window, const Act& act) {
  double wall_ms = 0;
  double cpu_ms = 0;
  const auto time = [&](const auto& work) {
    const Lap lap;
    work();
    wall_ms = std::max(wall_ms, lap.wall_ms());
    cpu_ms = std::max(cpu_ms, lap.cpu_ms());
  };
  const auto handle_events = [] { QCoreApplication::processEvents(); };
  time([&] {
    act();
    handle_events();
  });
  for (int round = 0; round < 2; ++round) {  // a result may start a task of its own
    window.wait();
    time(handle_events);
  }
  return {{"blocked_ms", wall_ms}, {"blocked_cpu_ms", cpu_ms}};
}

/// What opening each table and pane holds up, and what goes through all of them.
nlohmann::ordered_json time_opening(MainWindow& window, const AnalysedSession& analysed) {
  ViewState& state = window.state();
  nlohmann::ordered_json times;
  times["(the report)"] = time_hold_up(window, [&] { window.show_analysis(analysed); });
  for (const QString& title : window.tab_titles()) {
    times[title.toStdString()] = time_hold_up(window, [&] { window.show_tab(title); });
  }
  times["(all selected)"] =
      time_hold_up(window, [&] { state.select_time(state.session().range()); });
  if (!analysed.step_bars.empty()) {
    const StepBar& step = analysed.step_bars.front();
    times["(a step)"] = time_hold_up(window, [&] {
      state.go_to_time(step.time);
      state.choose_step(ChosenStep{step.time, step.name});
    });
  }
  return times;
}

}  // namespace

std::optional<std::string> bench_frames(MainWindow& window, const LoadedSession& loaded,
                                        const std::string& path) {
  const Session& session = *loaded.session;
  const LanesView& lanes = window.timeline().lanes();
  if (!wait_until_shown(window)) return kNotShown;
  ViewState& state = window.state();
  state.fit();
  const Lap first_paint;
  window.grab();
  const double first_paint_s = loaded.seconds + first_paint.wall_ms() / 1000;
  PaintCount painted(window.timeline().lanes());
  const FrameTimes frames =
      time_frames(window, session.range(), [&] { window.timeline().lanes().repaint(); });
  if (painted.count() < frames.wall_ms.size()) return kNotShown;
  const uint64_t peak = peak_bytes();
  const SearchTimes searches = time_searches(state);
  auto& pane = *window.findChild<FindPane*>();
  window.show_tab(QStringLiteral("Find"));
  const Responsiveness find =
      watch_window(&pane, &FindPane::shown, [&] { state.find(QStringLiteral("e")); });
  HitsModel& hits = pane.table().hits();
  const Responsiveness sort =
      hits.size() == 0
          ? Responsiveness()
          : watch_window(&hits, &HitsModel::sorted, [&] { hits.sort(0, Qt::AscendingOrder); });
  const Lap summing_up;
  const AnalysedSession analysed = analyse_session(session);
  const double report_s = summing_up.wall_ms() / 1000;
  const uint64_t peak_with_report = peak_bytes();
  const nlohmann::ordered_json opening = time_opening(window, analysed);
  window.show_tab(QStringLiteral("Flame"));
  state.find(QStringLiteral("aten::"));
  window.settle();
  const FrameTimes whole =
      time_frames(window, session.range(), [] { QCoreApplication::processEvents(); });
  const nlohmann::ordered_json report = {
      {"ranks", session.traces().size()},
      {"ranks_loaded", session.loaded_count()},
      {"events", window.state().session().event_count()},
      {"lanes", session.lane_count()},
      {"width", lanes.width()},
      {"height", lanes.height()},
      {"frames", painted.count()},
      {"p50_ms", percentile(frames.wall_ms, 0.5)},
      {"p95_ms", percentile(frames.wall_ms, 0.95)},
      {"max_ms", percentile(frames.wall_ms, 1)},
      {"p95_cpu_ms", percentile(frames.cpu_ms, 0.95)},
      {"load_s", loaded.seconds},
      {"first_paint_s", first_paint_s},
      {"peak_bytes", peak},
      {"report_s", report_s},
      {"peak_bytes_with_report", peak_with_report},
      {"search_ms", searches.find_ms},
      {"search_blocked_ms", searches.blocked_ms},
      {"search_next_ms", searches.next_ms},
      {"search_hits", state.search().count()},
      {"find_s", find.seconds},
      {"find_blocked_ms", find.blocked_ms},
      {"find_blocked_cpu_ms", find.blocked_cpu_ms},
      {"sort_s", sort.seconds},
      {"sort_blocked_ms", sort.blocked_ms},
      {"sort_blocked_cpu_ms", sort.blocked_cpu_ms},
      {"opening", opening},
      {"whole_window", json_of(whole)},
  };
  return write_whole(path, report.dump(2) + "\n");
}

}  // namespace redline::viewer
