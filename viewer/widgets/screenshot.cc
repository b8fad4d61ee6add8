#include "viewer/widgets/screenshot.h"

#include <fmt/format.h>

#include <QBuffer>
#include <QCoreApplication>
#include <QRegularExpression>
#include <algorithm>
#include <iostream>
#include <tl/expected.hpp>

#include "base/file.h"
#include "viewer/models/search.h"
#include "viewer/models/view_file.h"

namespace redline::viewer {
namespace {

// Converts --at to the session's axis. Reports give unix times, and a time that lies years after
// the recording's begin can only be one. Traces that are aligned have each their own.
int64_t session_time(const Session& session, int64_t at_ns) {
  const int64_t far_after = saturating_sum(session.range().end_ns, TimeAxis::kMaxSpanNs);
  if (session.traces().empty() || at_ns <= far_after) return at_ns;
  const auto has_time = [at_ns](const SessionTrace& item) {
    const auto work = item.work();
    return work && work->contains(at_ns);
  };
  auto recorded = std::ranges::find_if(session.traces(), has_time);
  if (recorded == session.traces().end()) recorded = session.traces().begin();
  return saturating_sub(at_ns, recorded->origin_ns);
}

/// The time that the view asks for. The error is a sentence: no trace has it.
tl::expected<TimeRange, std::string> range_of(const ViewState& state, const View& view) {
  const Session& session = state.session();
  const int64_t span_ns = view.span_ns.value_or(state.axis().span_ns);
  int64_t begin_ns = state.axis().begin_ns;
  if (view.at_ns) {
    begin_ns = session_time(session, *view.at_ns);
  } else if (state.selection()) {
    const TimeRange selected = session.range_of(state.selection());
    begin_ns = saturating_sum(selected.begin_ns, selected.span_ns() / 2 - span_ns / 2);
  }
  const TimeRange range{begin_ns, saturating_sum(begin_ns, span_ns)}, recorded = session.range();
  if (range.begin_ns <= recorded.end_ns && range.end_ns >= recorded.begin_ns) return range;
  const int64_t origin_ns = saturating_sub(view.at_ns.value_or(begin_ns), begin_ns);
  return tl::unexpected(fmt::format(
      "--at {}: outside of the recording, which is from {} to {}", view.at_ns.value_or(begin_ns),
      saturating_sum(recorded.begin_ns, origin_ns), saturating_sum(recorded.end_ns, origin_ns)));
}

}  // namespace

std::optional<std::string> apply_view(MainWindow& window, const View& view) {
  ViewState& state = window.state();
  if (!view.saved.empty()) {
    const auto saved = read_view(view.saved);
    if (!saved) return saved.error();
    if (*saved) window.restore(**saved);
  }
  if (!view.select.empty()) {
    const SliceRef ref = longest_named(state.session(), view.select);
    if (!ref) {
      const Session& session = state.session();
      return fmt::format(
          "--select {}: no slice has this name{}. Names are matched whole.", view.select,
          session.is_partial()
              ? fmt::format(" in the {} ranks that are loaded", session.loaded_count())
              : "");
    }
    state.go_to(ref);
  }
  if (!view.find.empty()) state.find(QString::fromStdString(view.find));
  if (!view.tab.empty() && !window.show_tab(QString::fromStdString(view.tab))) {
    return fmt::format("--tab {}: there is no such tab for this trace. It has: {}.", view.tab,
                       window.tab_titles().join(QStringLiteral(", ")).toStdString());
  }
  if (view.at_ns || view.span_ns) {
    const auto range = range_of(state, view);
    if (!range) return range.error();
    state.set_range(*range);
  }
  return std::nullopt;
}

void apply_to_first(MainWindow& window, const View& view) {
  const auto apply = [&window](const View& part) {
    if (const auto problem = apply_view(window, part)) std::cerr << *problem << "\n";
  };
  View place = view;
  place.tab.clear();
  View tab;
  tab.tab = view.tab;
  QObject::connect(
      &window, &MainWindow::loaded, &window, [=] { apply(place); }, Qt::SingleShotConnection);
  QObject::connect(
      &window, &MainWindow::summed_up, &window, [=] { apply(tab); }, Qt::SingleShotConnection);
}

std::optional<std::string> save_screenshot(MainWindow& window, const std::string& path) {
  QCoreApplication::processEvents();
  window.settle();
  QBuffer picture;
  if (!picture.open(QIODevice::WriteOnly) || !window.grab().save(&picture, "PNG")) {
    return fmt::format("{}: no picture can be made of this window.", path);
  }
  return write_whole(path, picture.data().toStdString());
}

std::optional<std::string> write_whole(const std::string& path, const std::string& content) {
  const auto written = write_file(path, content);
  if (written) return std::nullopt;
  return written.error() + ". Name another file.";
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
