#include "viewer/widgets/screenshot.h"

#include <fmt/format.h>

#include <QBuffer>
#include <QCoreApplication>
#include <QRegularExpression>
#include <iostream>

#include "base/file.h"
#include "viewer/models/search.h"

namespace redline::viewer {
namespace {

// Converts --at to the session's axis. Reports give unix times, and a time that lies years after
// the recording's begin can only be one.
int64_t session_time(const Session& session, int64_t at_ns) {
  const int64_t far_after = saturating_sum(session.range().end_ns, TimeAxis::kMaxSpanNs);
  if (session.traces().empty() || at_ns <= far_after) return at_ns;
  return saturating_sub(at_ns, session.traces().front().origin_ns);
}

}  // namespace

std::optional<std::string> apply_view(MainWindow& window, const View& view) {
  ViewState& state = window.state();
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
    const int64_t begin =
        view.at_ns ? session_time(state.session(), *view.at_ns) : state.axis().begin_ns;
    const int64_t span = view.span_ns.value_or(state.axis().span_ns);
    state.set_range({begin, saturating_sum(begin, span)});
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
