// redline-viewer: shows the timelines of one or many ranks on the desktop, or draws them into a
// picture.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <QApplication>
#include <QLoggingCategory>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "base/format.h"
#include "base/help_formatter.h"
#include "base/usage_problem.h"
#include "viewer/frame_bench.h"
#include "viewer/widgets/loader.h"
#include "viewer/widgets/main_window.h"
#include "viewer/widgets/screenshot.h"

namespace {

using namespace redline::viewer;

struct Options {
  std::vector<std::string> paths;
  std::string before;
  std::optional<int64_t> at_ns;
  std::optional<int64_t> span_ns;
  std::string select;
  std::string find;
  std::string tab;
  std::string view;
  std::string screenshot;
  std::string bench_frames;
  std::string size = "1600x1000";
  std::string theme;
};

int fail(const std::string& message) {
  std::cerr << "redline-viewer: " << message << "\n";
  return 1;
}

void add_options(CLI::App& app, Options& options) {
  app.add_option(
      "PATH", options.paths,
      "Trace files (.json, .gz, .zst), folders of ranks or of step logs, or a study (.db)");
  app.add_option("--before", options.before,
                 "An earlier run: show both on aligned steps, and what changed")
      ->type_name("PATH");
  app.add_option("--at", options.at_ns,
                 "Left edge of the view, in ns after the first event, or in unix time");
  app.add_option("--span", options.span_ns, "Width of the view in ns")->check(redline::above_zero);
  app.add_option("--select", options.select, "Select the longest slice of this name");
  app.add_option("--find", options.find, "Search for a name, or with args:TEXT for arguments");
  app.add_option("--tab", options.tab, "Show this tab: Kernels, Ranks, Find, Selection …");
  app.add_option("--view", options.view, "Show this view, which Ctrl + S saved in a window")
      ->type_name("FILE");
  app.add_option("--screenshot", options.screenshot, "Write the window to this PNG and exit")
      ->type_name("FILE");
  app.add_option("--bench-frames", options.bench_frames,
                 "Zoom and pan by a script, write frame times to this JSON file and exit")
      ->type_name("FILE");
  app.add_option("--size", options.size, "Size of the window")
      ->type_name("WIDTHxHEIGHT")
      ->capture_default_str();
  app.add_option(
         "--theme", options.theme,
         "Light, dark or as the desktop (auto), instead of what was last chosen in the window")
      ->check(CLI::IsMember({"auto", "light", "dark"}));
  app.footer(
      "Examples:\n"
      "  redline-viewer traces/\n"
      "  redline-viewer --before old/ new/\n"
      "  redline-viewer autotune.study.db\n"
      "  redline-viewer logs/\n"
      "  redline-viewer --select 'ProfilerStep#7' rank0.pt.trace.json.gz\n"
      "  redline-viewer --at 250000000 --span 40000000 --screenshot step.png traces/\n"
      "  redline-viewer --theme dark --size 1920x1080 --screenshot dark.png traces/");
}

/// What is wrong with the command line; nullopt if nothing is.
std::optional<std::string> wrong_use(const Options& options) {
  if (!parse_size(options.size)) {
    return "--size " + options.size +
           ": not WIDTHxHEIGHT from 200x200 to 16000x16000. Example: --size 1600x1000";
  }
  if (!options.screenshot.empty() && !options.screenshot.ends_with(".png")) {
    return "--screenshot " + options.screenshot +
           ": the picture is a PNG file, so its name must end in .png";
  }
  return std::nullopt;
}

// Said before a window opens: where there is no display, that is not what is missing first.
std::optional<std::string> missing_file(const Options& options) {
  std::vector<std::string> paths = options.paths;
  if (!options.before.empty()) paths.push_back(options.before);
  if (!options.view.empty()) paths.push_back(options.view);
  for (const std::string& path : paths) {
    std::error_code error;
    if (std::filesystem::exists(path, error)) continue;
    if (!error) error = std::make_error_code(std::errc::no_such_file_or_directory);
    const bool is_shown = std::ranges::find(options.paths, path) != options.paths.end();
    return path + ": " + error.message() +
           (is_shown
                ? ". Give a trace file (*.pt.trace.json, .gz), a folder of them or of step logs, "
                  "or a study (.db)"
                : "");
  }
  return std::nullopt;
}

bool needs_no_display(const Options& options) {
  return !options.screenshot.empty() || !options.bench_frames.empty();
}

// A picture needs no display. Without one, Qt's default platform would end in abort(), so the
// offscreen platform is chosen.
void choose_platform() {
  const auto unset = [](const char* name) {
    const char* value = std::getenv(name);
    return !value || !*value;
  };
  if (unset("QT_QPA_PLATFORM") && unset("DISPLAY") && unset("WAYLAND_DISPLAY")) {
    setenv("QT_QPA_PLATFORM", "offscreen", 1);
  }
}

// Users who only want a picture do not care about Qt's notes on its platform.
void quiet_qt() {
  QLoggingCategory::setFilterRules(QStringLiteral("default.warning=false\nqt.*.warning=false"));
}

// Without a display Qt gives advice for packagers and aborts.
void end_without_display(QtMsgType type, const QMessageLogContext& context,
                         const QString& message) {
  const QString text = qFormatLogMessage(type, context, message);
  if (type != QtFatalMsg) {
    if (QByteArrayView(context.category) != "qt.qpa.plugin")
      std::cerr << text.toStdString() << "\n";
    return;
  }
  std::_Exit(
      fail("no window can be opened here: is there a display? A picture needs none: "
           "redline-viewer --screenshot out.png PATH; nor does a page: "
           "redline report --format html -o report.html PATH"));
}

// The theme that was chosen in the window only holds for the window, so that a script's picture
// looks the same for everyone.
ThemeChoice theme_choice(const Options& options) {
  if (!needs_no_display(options)) return first_theme(options.theme);
  return theme_choice_of(options.theme).value_or(ThemeChoice::kDesktop);
}

View view_of(const Options& options) {
  return {options.at_ns, options.span_ns, options.select, options.find, options.tab, options.view};
}

/// The first option that is about a timeline; empty if there is none.
std::string timeline_option(const Options& options) {
  const std::pair<const char*, bool> all[] = {
      {"--before", !options.before.empty()},   {"--at", options.at_ns.has_value()},
      {"--span", options.span_ns.has_value()}, {"--select", !options.select.empty()},
      {"--find", !options.find.empty()},       {"--tab", !options.tab.empty()},
      {"--view", !options.view.empty()}};
  const auto given = std::ranges::find_if(all, [](const auto& each) { return each.second; });
  return given == std::end(all) ? "" : given->first;
}

/// Draws what is no trace: a study or the step logs of a job.
template <typename Shown>
int draw_page(const Options& options, MainWindow& window,
              const tl::expected<Shown, std::string>& read,
              void (MainWindow::*show)(const Shown&)) {
  if (options.screenshot.empty()) return fail("there are no frames to measure: name a trace");
  if (const std::string option = timeline_option(options); !option.empty()) {
    return fail(option + ": for traces only, not for a study or a job's step logs");
  }
  if (!read) return fail(read.error());
  window.show();
  (window.*show)(*read);
  const auto problem = save_screenshot(window, options.screenshot);
  return problem ? fail(*problem) : 0;
}

int run_offscreen(const Options& options, MainWindow& window) {
  if (options.paths.empty()) {
    return fail("no trace named. Example: redline-viewer --screenshot out.png traces/");
  }
  if (has_study(options.paths)) {
    return draw_page(options, window, load_lone_study(options.paths), &MainWindow::show_tuning);
  }
  if (options.before.empty() && is_run(options.paths)) {
    return draw_page(options, window, load_run(options.paths), &MainWindow::show_run);
  }
  const auto loaded = options.before.empty() ? load_session(options.paths)
                                             : load_comparison({options.before}, options.paths);
  if (!loaded) return fail(loaded.error());
  for (const redline::trace::ReadError& error : loaded->unreadable) {
    std::cerr << "redline-viewer: left out: " << error.message << "\n";
  }
  window.ignore_saved_views();
  window.show();
  QCoreApplication::processEvents();
  window.show_session(*loaded);
  if (options.bench_frames.empty()) window.show_analysis(analyse_session(*loaded->session));
  if (const auto problem = apply_view(window, view_of(options))) return fail(*problem);
  if (!options.bench_frames.empty()) {
    if (const auto problem = bench_frames(window, *loaded, options.bench_frames)) {
      return fail(*problem);
    }
  }
  if (!options.screenshot.empty()) {
    if (const auto problem = save_screenshot(window, options.screenshot)) return fail(*problem);
  }
  return 0;
}

int run_window(const Options& options, MainWindow& window) {
  apply_to_first(window, view_of(options));
  window.keep_places();
  window.show();
  if (!options.paths.empty()) {
    options.before.empty() ? window.open(options.paths)
                           : window.compare({options.before}, options.paths);
  }
  return QApplication::exec();
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Shows the timelines of training traces", "redline-viewer");
  redline::format_help(app);
  app.set_version_flag("--version", "redline-viewer " REDLINE_VERSION);
  add_options(app, options);
  const auto refuse = [](const std::string& problem) {
    fail(problem);
    return 2;
  };
  if (const auto ended = redline::ended_by_parsing(app, argc, argv, refuse)) return *ended;
  if (const auto problem = wrong_use(options)) return refuse(*problem);
  if (const auto problem = missing_file(options)) return fail(*problem);
  if (needs_no_display(options)) {
    choose_platform();
    quiet_qt();
  }
  int qt_argc = 1;
  const auto before = qInstallMessageHandler(end_without_display);
  QApplication qt(qt_argc, argv);
  qInstallMessageHandler(before);
  QApplication::setApplicationName(QStringLiteral("redline-viewer"));
  QApplication::setStyle(QStringLiteral("Fusion"));
  QApplication::setFont(ui_font(12));
  const ThemeChoice theme = theme_choice(options);
  MainWindow window(theme_of(theme));
  window.set_theme(theme);
  const QSize size = *parse_size(options.size), least = window.minimumSizeHint();
  if (size.expandedTo(least) != size) {
    fail(fmt::format("--size {}: the window is {}x{} at least", options.size, least.width(),
                     least.height()));
    return 2;
  }
  window.resize(size);
  return needs_no_display(options) ? run_offscreen(options, window) : run_window(options, window);
}
