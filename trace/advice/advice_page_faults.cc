#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/integer.h"
#include "trace/advice/advice_rules.h"
#include "trace/read/recorded_facts.h"

namespace redline::trace {
namespace {

constexpr double kKernelCpuShare = 0.05;  // of the process's CPU time
// To clear a page and to enter it takes some microseconds. Where the kernel takes longer for each,
// it does other work.
constexpr double kMostNsPerFault = 5'000;

/// Mean of a counter (profiler/host/host_samples.h) from the first step to the last; nullopt if it
/// has no sample there.
std::optional<double> mean_in_steps(const Activity& activity, std::string_view name) {
  const Interval whole{activity.steps().front().begin_ns, activity.steps().back().end_ns};
  double sum = 0;
  int64_t count = 0;
  for (const Counter& counter : activity.trace().counters()) {
    if (activity.trace().string(counter.name) != name) continue;
    for (size_t i = 0; i < counter.value.size(); ++i) {
      if (counter.time_ns[i] < whole.begin_ns || counter.time_ns[i] > whole.end_ns) continue;
      sum += counter.value[i];
      ++count;
    }
  }
  return count == 0 ? std::nullopt : std::optional(sum / static_cast<double>(count));
}

/// Whether malloc is the GNU C library's, and nobody has told it what to keep.
bool gives_memory_back(const Trace& trace) {
  const RecordedFacts recorded(trace);
  if (recorded.text("run", "malloc") != "libc.so.6") return false;
  const nlohmann::json& variables = recorded.value("run", "environment");
  constexpr auto kSettings =
      std::to_array<const char*>({"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_",
                                  "MALLOC_MMAP_MAX_", "MALLOC_TOP_PAD_", "GLIBC_TUNABLES"});
  return std::ranges::none_of(kSettings,
                              [&](const char* name) { return variables.contains(name); });
}

/// The largest MALLOC_MMAP_THRESHOLD_ that the recorded GNU C library takes. Before 2.35 a larger
/// one is refused, and the smallest holds instead.
int64_t largest_threshold(const Trace& trace) {
  const std::string version = RecordedFacts(trace).text("run", "glibc");
  const auto minor = version.starts_with("2.") ? parse_integer(version.substr(2)) : std::nullopt;
  return minor && *minor < 35 ? int64_t{1} << 25 : int64_t{1} << 30;
}

}  // namespace

// How much faster the step is without them, only a trial shows: threads may share the kernel's
// time, and a page that was just cleared is in no cache.
std::optional<Finding> page_faults(const Activity& activity) {
  // Where a GPU trains, the host's memory is seldom what the step waits for.
  if (!activity.analysis().gpus.empty()) return std::nullopt;
  const auto faults_per_s = mean_in_steps(activity, "Page faults: a second");
  const auto cpu_percent = mean_in_steps(activity, "Process CPU: % of a core");
  const auto kernel_percent = mean_in_steps(activity, "Process CPU in the kernel: % of a core");
  if (!faults_per_s || !kernel_percent || cpu_percent.value_or(0) <= 0) return std::nullopt;
  const double share = *kernel_percent / *cpu_percent;
  const double kernel_ns_per_s = 1e7 * *kernel_percent;
  if (share < kKernelCpuShare || kernel_ns_per_s > kMostNsPerFault * *faults_per_s)
    return std::nullopt;
  if (!gives_memory_back(activity.trace())) return std::nullopt;
  const auto steps_ns = static_cast<double>(total_ns(activity.steps()));
  const double faults =
      *faults_per_s * 1e-9 * steps_ns / static_cast<double>(activity.step_count());
  Finding finding;
  finding.rule = "page_faults";
  finding.headline = fmt::format("Freed memory is taken anew: {} page faults{}",
                                 format_count(static_cast<int64_t>(faults)), activity.a_step());
  finding.detail = fmt::format(
      "the kernel, which clears each page, takes {} of the process's CPU time; with "
      "MALLOC_TRIM_THRESHOLD_=2147483647 MALLOC_MMAP_THRESHOLD_={} the process keeps what it frees",
      format_percent(share), largest_threshold(activity.trace()));
  finding.tell("page_faults", faults);
  finding.tell("kernel_share", share);
  const Interval first = activity.steps().front();
  finding.events = {{SliceId::none(), first.begin_ns, first.end_ns, "Page faults"}};
  finding.knob = "malloc=default,keep";
  return finding;
}

}  // namespace redline::trace
