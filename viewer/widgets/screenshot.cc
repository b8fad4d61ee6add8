#include "viewer/widgets/screenshot.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <QCoreApplication>
#include <QFile>
#include <QRegularExpression>
#include <algorithm>
#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>

#include "viewer/models/search.h"

namespace redline::viewer {
namespace {

using Clock = std::chrono::steady_clock;

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

/// From everything down to 100 ns and out again, panning at each zoom, at five places.
class BenchPath {
 public:
  explicit BenchPath(TimeRange all) : all_(all) {}

  template <typename Frame>
  void walk(ViewState& state, const Frame& frame) const {
    for (const double place : {0.1, 0.3, 0.5, 0.7, 0.9}) {
      state.set_range(all_);
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

 private:
  TimeRange all_;
};

// Reports give unix times: a time years after the recording can only be one.
int64_t session_time(const Session& session, int64_t at_ns) {
  const int64_t far_after = saturating_add(session.range().end_ns, TimeAxis::kMaxSpanNs);
  if (session.traces().empty() || at_ns <= far_after) return at_ns;
  return saturating_sub(at_ns, session.traces().front().origin_ns);
}

}  // namespace

std::optional<std::string> apply_view(MainWindow& window, const View& view) {
  ViewState& state = window.state();
  if (!view.select.empty()) {
    const SliceRef ref = longest_named(state.session(), view.select);
    if (!ref) {
      return fmt::format("--select {}: no slice has this name. Names are matched whole.",
                         view.select);
    }
    state.go_to(ref);
  }
  if (view.at_ns || view.span_ns) {
    const int64_t begin =
        view.at_ns ? session_time(state.session(), *view.at_ns) : state.axis().begin_ns;
    const int64_t span = view.span_ns.value_or(state.axis().span_ns);
    state.set_range({begin, saturating_add(begin, span)});
  }
  return std::nullopt;
}

std::optional<std::string> save_screenshot(MainWindow& window, const std::string& path) {
  QCoreApplication::processEvents();
  window.settle();
  const QPixmap picture = window.grab();
  QFile file(QString::fromStdString(path));
  if (file.open(QIODevice::WriteOnly) && picture.save(&file, "PNG") && file.flush()) {
    return std::nullopt;
  }
  return fmt::format("{}: cannot be written: {}. Name another file.", path,
                     file.errorString().toStdString());
}

std::optional<std::string> write_text_file(const std::string& path, const std::string& text) {
  QFile file(QString::fromStdString(path));
  const bool written = file.open(QIODevice::WriteOnly | QIODevice::Truncate) &&
                       file.write(text.data(), static_cast<qint64>(text.size())) ==
                           static_cast<qint64>(text.size()) &&
                       file.flush();
  if (written) return std::nullopt;
  return fmt::format("{}: cannot be written: {}. Name another file.", path,
                     file.errorString().toStdString());
}

std::optional<std::string> bench_frames(MainWindow& window, const LoadedSession& loaded,
                                        const std::string& path) {
  LanesView& lanes = window.timeline().lanes();
  std::vector<double> frames;
  std::vector<double> cpu_frames;
  const auto frame = [&] {
    const Clock::time_point start = Clock::now();
    const double cpu_start = cpu_milliseconds();
    lanes.repaint();
    cpu_frames.push_back(cpu_milliseconds() - cpu_start);
    frames.push_back(milliseconds_since(start));
  };
  window.state().fit();
  const Clock::time_point start = Clock::now();
  window.grab();
  const double first_paint_ms = milliseconds_since(start);
  BenchPath(loaded.session->range()).walk(window.state(), frame);
  const nlohmann::ordered_json report = {
      {"events", loaded.session->event_count()},
      {"lanes", loaded.session->lane_count()},
      {"width", lanes.width()},
      {"height", lanes.height()},
      {"p50_ms", percentile(frames, 0.5)},
      {"p95_ms", percentile(frames, 0.95)},
      {"max_ms", percentile(frames, 1)},
      {"p95_cpu_ms", percentile(cpu_frames, 0.95)},
      {"load_s", loaded.seconds},
      {"first_paint_s", loaded.seconds + first_paint_ms / 1000},
      {"peak_bytes", peak_bytes()},
  };
  return write_text_file(path, report.dump(2) + "\n");
}

std::optional<QSize> parse_size(const std::string& text) {
  static const QRegularExpression kSize(QStringLiteral("^(\\d{3,5})x(\\d{3,5})$"));
  const auto match = kSize.match(QString::fromStdString(text));
  if (!match.hasMatch()) return std::nullopt;
  const QSize size(match.captured(1).toInt(), match.captured(2).toInt());
  const auto fits = [](int pixels) { return pixels >= 200 && pixels <= 16000; };
  if (!fits(size.width()) || !fits(size.height())) return std::nullopt;
  return size;
}

}  // namespace redline::viewer
