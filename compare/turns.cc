#include "compare/turns.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/clock.h"
#include "base/file.h"
#include "base/secrets.h"
#include "compare/logged_run.h"
#include "machine/launch/output_tail.h"
#include "profiler/request/record_request.h"
#include "trace/read/reader.h"
#include "trace/read/step_log_reader.h"
#include "trace/run/folder.h"

namespace redline::compare {
namespace {

constexpr size_t kShownLines = 10;
constexpr size_t kShownBytes = 16 * 1024;

template <typename Value>
using Expected = tl::expected<Value, std::string>;

class Turns {
 public:
  Turns(const Plan& plan, const std::atomic<bool>& stop, const OnProgress& on_progress)
      : plan_(plan), stop_(stop), on_progress_(on_progress) {}

  Expected<Answer> run() {
    if (const auto locked = lock(); !locked) return tl::unexpected(locked.error());
    for (Side& side : sides_) {
      if (const auto ready = prepare(side); !ready) return tl::unexpected(ready.error());
    }
    bool is_sure = false;
    while (pairs_done() < plan_.pairs && !is_sure) {
      const bool base_first = order_.begins_with_base();
      for (const bool is_next : {!base_first, base_first}) {
        const auto done = measure(is_next);
        if (!done) return tl::unexpected(done.error());
        if (!*done) return interrupted();
      }
      is_sure = trace::is_look(pairs_done(), plan_.pairs) &&
                trace::is_answered(comparison(), plan_.limits);
    }
    answer_.diff = diff();
    if (answer_.diff->runs.is_clear()) record_windows();
    return std::move(answer_);
  }

 private:
  struct Side {
    std::string name;
    const std::string& command;
    std::string folder;
    std::vector<trace::RunFigures> runs;
  };

  [[nodiscard]] int64_t pairs_done() const {
    return std::min(std::ssize(sides_[0].runs), std::ssize(sides_[1].runs));
  }

  /// Of two comparisons that begin at once, neither finds the other's step logs.
  [[nodiscard]] Expected<void> lock() {
    if (const auto ready = launch::prepare_directory(plan_.folder); !ready) {
      return tl::unexpected(plan_.folder + ": " + ready.error() +
                            ". Choose another folder with -o");
    }
    const std::string path = plan_.folder + "/compare.lock";
    lock_.emplace(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kFileMode));
    if (lock_->get() < 0) {
      return tl::unexpected(
          fmt::format("{}: {}. Choose another folder with -o", path, std::strerror(errno)));
    }
    // A file system may know no locks.
    if (flock(lock_->get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return {};
    return tl::unexpected(plan_.folder +
                          ": another redline compare writes there. Choose another folder with -o");
  }

  [[nodiscard]] Expected<void> prepare(Side& side) const {
    side.folder = std::filesystem::absolute(plan_.folder) / side.name;
    if (const auto ready = launch::prepare_directory(side.folder); !ready) {
      return tl::unexpected(side.folder + ": " + ready.error() + ". Choose another folder with -o");
    }
    if (trace::find_step_logs(side.folder).empty()) return {};
    return tl::unexpected(side.folder +
                          ": has the step logs of an earlier comparison. Choose another folder "
                          "with -o");
  }

  [[nodiscard]] Expected<RunEnd> start(const Side& side, RunKind kind) const {
    const std::string number =
        kind == RunKind::kRecorded ? "recorded" : std::to_string(side.runs.size() + 1);
    const CommandRun run{.command = {"/bin/sh", "-c", side.command},
                         .folder = side.folder,
                         .output = side.folder + "/" + number + ".log",
                         .kind = kind};
    const auto end = run_once(run, stop_);
    if (!end) return tl::unexpected("--" + side.name + ": " + end.error());
    if (end->is_stopped || end->status == 0) return *end;
    std::string lines = launch::last_lines(launch::tail_of(run.output, kShownBytes), kShownLines);
    return tl::unexpected(fmt::format("--{}: {}: exit status {} in run {}{}{}", side.name,
                                      without_secrets(side.command), end->status, number,
                                      lines.empty() ? "" : ". It said last:\n", lines));
  }

  void tell_progress() const {
    on_progress_(sides_[0].runs.size() + sides_[1].runs.size(),
                 2 * static_cast<uint64_t>(plan_.pairs));
  }

  /// False if it was interrupted.
  [[nodiscard]] Expected<bool> measure(bool is_next) {
    Side& side = sides_[is_next ? 1 : 0];
    tell_progress();
    const auto end = start(side, RunKind::kLogged);
    if (!end) return tl::unexpected(end.error());
    if (end->is_stopped) return false;
    if (end->files.empty()) {
      return tl::unexpected(
          fmt::format("--{}: {}: no process of the command made a training step where "
                      "Redline could see it, so there is nothing to compare",
                      side.name, without_secrets(side.command)));
    }
    const auto runs = trace::read_run_figures(end->files);
    if (!runs) return tl::unexpected(runs.error().message);
    side.runs.push_back(runs->front());
    if (const auto why_not = trace::why_not_comparable(sides_[0].runs, sides_[1].runs)) {
      return tl::unexpected(*why_not);
    }
    return true;
  }

  [[nodiscard]] trace::RunComparison comparison() const {
    std::array<std::vector<trace::RunFigures>, 2> runs = {sides_[0].runs, sides_[1].runs};
    const auto pairs = static_cast<size_t>(pairs_done());
    for (auto& side : runs) side.resize(pairs);
    return trace::change_between(runs[0], runs[1], trace::tail_of_look(pairs_done(), plan_.pairs),
                                 trace::kLastTail);
  }

  [[nodiscard]] trace::RunDiff diff() const {
    return trace::make_run_diff(without_secrets(plan_.base), without_secrets(plan_.next),
                                comparison(), plan_.limits);
  }

  [[nodiscard]] Answer interrupted() {
    answer_.is_interrupted = true;
    if (pairs_done() > 0) answer_.diff = diff();
    return std::move(answer_);
  }

  void record_windows() {
    std::array<std::optional<trace::Report>, 2> reports;
    for (const size_t i : {size_t{0}, size_t{1}}) {
      const Side& side = sides_[i];
      tell_progress();
      const auto end = start(side, RunKind::kRecorded);
      if (end && end->is_stopped) {
        answer_.is_interrupted = true;
        return;
      }
      if (!end || end->files.empty()) {
        answer_.no_windows = end ? "--" + side.name + ": no trace was recorded" : end.error();
        return;
      }
      const auto traces = trace::read_traces(end->files);
      if (!traces) {
        answer_.no_windows = traces.error().message;
        return;
      }
      reports[i] = trace::make_report(*traces);
    }
    answer_.diff->windows = trace::compare_runs(*reports[0], *reports[1]);
  }

  const Plan& plan_;
  const std::atomic<bool>& stop_;
  const OnProgress& on_progress_;
  std::optional<FileDescriptor> lock_;
  std::array<Side, 2> sides_ = {Side{"base", plan_.base, "", {}}, Side{"new", plan_.next, "", {}}};
  TurnOrder order_{static_cast<uint32_t>(monotonic_ns())};
  Answer answer_;
};

}  // namespace

bool TurnOrder::begins_with_base() {
  if (second_) return *std::exchange(second_, std::nullopt);
  const bool first = chance_() % 2 == 0;
  second_ = !first;
  return first;
}

Expected<Answer> compare_in_turns(const Plan& plan, const std::atomic<bool>& stop,
                                  const OnProgress& on_progress) {
  return Turns(plan, stop, on_progress).run();
}

}  // namespace redline::compare
