// redline monitor: shows what the machine and its GPUs do right now.
#include <poll.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>

#include "cli/command.h"
#include "machine/monitor/snapshot.h"

namespace redline::cli {
namespace {

using std::chrono::nanoseconds;
using Clock = std::chrono::steady_clock;

struct MonitorOptions {
  bool once = false;
  std::string format = "text";
  double interval_s = 1;
};

constexpr nanoseconds kOnceInterval = std::chrono::milliseconds(200);

/// Waits until `time`, or until a signal ends the program, which gives false. No signal is missed.
bool wait_until(Clock::time_point time, const std::atomic<bool>& interrupted) {
  sigset_t ours, before;
  sigemptyset(&ours);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ours, number);
  sigprocmask(SIG_BLOCK, &ours, &before);
  while (!interrupted) {
    const nanoseconds left = time - Clock::now();
    if (left.count() <= 0) break;
    const timespec timeout = {.tv_sec = left.count() / 1'000'000'000,
                              .tv_nsec = left.count() % 1'000'000'000};
    ppoll(nullptr, 0, &timeout, &before);
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
  return !interrupted;
}

/// Draws each table over the last one, and leaves out lines for which the terminal has no room.
class Screen {
 public:
  [[nodiscard]] std::string draw(const std::string& table) {
    std::string text = lines_ > 0 ? "\033[" + std::to_string(lines_) + "A\r" : "";
    lines_ = 0;
    const size_t most = rows() - 1;
    for (size_t begin = 0; begin < table.size() && lines_ < most; ++lines_) {
      const size_t end = std::min(table.find('\n', begin), table.size());
      text += table.substr(begin, end - begin) + "\033[K\n";
      begin = end + 1;
    }
    return text + "\033[J";
  }

 private:
  static size_t rows() {
    winsize size = {};
    const bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 1;
    return is_known ? size.ws_row : 24;
  }

  size_t lines_ = 0;
};

int monitor(const MonitorOptions& options) {
  const auto& interrupted = interrupt_flag();
  const TextStyle style = style_of(STDOUT_FILENO);
  const bool redraws = !options.once && isatty(STDOUT_FILENO) == 1;
  const auto interval =
      std::chrono::duration_cast<nanoseconds>(std::chrono::duration<double>(options.interval_s));
  monitor::Watcher watcher;
  Screen screen;
  auto next = Clock::now() + (options.once ? std::min(interval, kOnceInterval) : interval);
  for (bool is_first = true; wait_until(next, interrupted); is_first = false) {
    next = std::max(next + interval, Clock::now());
    const monitor::Snapshot snapshot = watcher.look();
    std::string text;
    if (options.format == "json") {
      text = monitor::as_json(snapshot);
    } else {
      const std::string table = monitor::as_text(snapshot, style);
      text = redraws ? screen.draw(table) : (is_first ? "" : "\n") + table;
    }
    if (const int status = write_output(text, ""); status != kDone || options.once) return status;
  }
  return kDone;
}

}  // namespace

void add_monitor(CLI::App& app, int& status) {
  auto* command = app.add_subcommand(
      "monitor", "Show the load, memory, power and clocks of each GPU and of the host, live");
  const auto options = std::make_shared<MonitorOptions>();
  command->add_flag("--once", options->once, "Print once and end");
  command
      ->add_option("--format", options->format,
                   "text, or json: an object a line (schema redline.monitor/1)")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command->add_option("--interval", options->interval_s, "Seconds between two looks, 0.1 to 3600")
      ->check(CLI::Range(0.1, 3600.0))
      ->option_text("SECONDS")
      ->capture_default_str();
  command->footer(
      "Ctrl-C ends it. Without an NVIDIA driver it shows the host alone. n/a: this GPU does not\n"
      "report the figure. Traces have the same figures, as counters.\n"
      "Examples:\n"
      "  redline monitor\n"
      "  redline monitor --interval 5 >> monitor.log\n"
      "  redline monitor --once --format json | jq '.gpus[].busy'");
  command->callback([options, &status] { status = monitor(*options); });
}

}  // namespace redline::cli
