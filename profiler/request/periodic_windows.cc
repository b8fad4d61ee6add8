#include "profiler/request/periodic_windows.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <set>

#include "base/user_switch.h"
#include "profiler/request/recording_summary.h"
#include "profiler/request/trigger.h"

namespace redline::launch {
namespace {

using std::chrono::hours;
using std::chrono::nanoseconds;

constexpr int64_t kSteps = 2;
// While a process waits for its first step, it is slower already. It may evaluate for long, or
// train no more.
constexpr std::chrono::seconds kPatience(5);

std::string name_of_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[sizeof "2026-11-23T07-10-00Z"];
  (void)std::strftime(text, sizeof text, "%Y-%m-%dT%H-%M-%SZ", &parts);
  return text;
}

}  // namespace

nanoseconds pause_after(nanoseconds took, nanoseconds every) {
  constexpr int kTimesAsLong = 500;
  return std::max(every, kTimesAsLong * took);
}

std::vector<size_t> superfluous_windows(const std::vector<nanoseconds>& begins, nanoseconds now) {
  std::vector<size_t> superfluous;
  std::set<int64_t> kept;
  for (size_t i = 0; i < begins.size() && begins[i] < now - hours(1); ++i) {
    if (!kept.insert(begins[i] / hours(1)).second) superfluous.push_back(i);
  }
  return superfluous;
}

PeriodicWindows::PeriodicWindows(std::string directory, nanoseconds every)
    : directory_(std::move(directory)), every_(every) {
  thread_.start([this] { run(); });
}

int64_t PeriodicWindows::stop() {
  thread_.stop();
  return count_;
}

void PeriodicWindows::run() {
  auto next = start_ + every_;
  while (thread_.pause(next - Clock::now())) {
    const auto begin = Clock::now();
    record();
    remove_old(begin - start_);
    next = begin + pause_after(Clock::now() - begin, every_);
  }
}

void PeriodicWindows::record() {
  // None yet: the job still starts, or trains nothing.
  const auto processes = recorded_processes(getpid());
  if (!processes) return;
  const nanoseconds begin = Clock::now() - start_;
  const std::string folder = directory_ + "/" + name_of_now();
  // Without the teardown, a job whose host is the limit would stay slower between the windows
  // (docs/gpu.md), which is more than they may cost.
  const TriggerRequest request{.steps = kSteps,
                               .directory = folder,
                               .with_gpu = wants_gpu_teardown(),
                               .patience = kPatience};
  trigger(
      *processes, request, [](const TriggerReport&) {}, thread_.stopping());
  if (list_traces(folder).whole.empty()) {
    std::error_code ignored;
    std::filesystem::remove(folder, ignored);  // unless a trace is being written into it
    return;
  }
  windows_.push_back({folder, begin});
  ++count_;
}

void PeriodicWindows::remove_old(nanoseconds now) {
  std::vector<nanoseconds> begins;
  for (const Window& window : windows_) begins.push_back(window.begin);
  auto superfluous = superfluous_windows(begins, now);
  std::ranges::reverse(superfluous);
  for (const size_t index : superfluous) {
    std::error_code ignored;
    std::filesystem::remove_all(windows_[index].folder, ignored);
    windows_.erase(windows_.begin() + static_cast<ptrdiff_t>(index));
  }
}

}  // namespace redline::launch
