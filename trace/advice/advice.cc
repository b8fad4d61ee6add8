#include "trace/advice/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "trace/advice/advice_rules.h"

namespace redline::trace {
namespace {

constexpr std::array kRules = {
    dataloader_wait,
    pageable_copies,
    tensor_cores_unused,
    tf32_off,
    float32_on_cpu,
    layout_transposes,
    cudnn_benchmark_off,
    launch_bound,
    synchronizing_calls,
    tiny_operators,
    cpu_oversubscribed,
    low_gpu_utilization,
    page_faults,
    optimizer_per_parameter,
    memory_unused,
    device_memory_full,
    allocator_retries,
    communication,
    accumulation_reduces,
    data_parallel,
    gpus_take_turns,
    gpu_throttled,
    batch_of_one,
    fusible_kernels,
    unfused_attention,
    misaligned_products,
    recomputation,
    small_batch,
    range_without_operators,
};

// What they see and say holds for any program on a GPU.
constexpr std::array<Rule, 3> kRulesOfAnyProgram = {launch_bound, low_gpu_utilization,
                                                    gpu_throttled};

// What they say of the host holds, whatever the GPU did meanwhile.
constexpr std::array<Rule, 4> kRulesWithoutGpuRecords = {dataloader_wait, device_memory_full,
                                                         gpu_throttled, batch_of_one};

constexpr double kHighSpeedup = 1.25;
constexpr double kMediumSpeedup = 1.05;

Severity severity_of(std::optional<double> estimated_speedup) {
  if (!estimated_speedup) return Severity::kMedium;
  if (*estimated_speedup >= kHighSpeedup) return Severity::kHigh;
  return *estimated_speedup >= kMediumSpeedup ? Severity::kMedium : Severity::kLow;
}

void rank_by_gain(std::vector<Finding>& findings) {
  for (Finding& finding : findings) finding.severity = severity_of(finding.estimated_speedup);
  std::ranges::stable_sort(findings, std::greater(), [](const Finding& finding) {
    return finding.estimated_speedup.value_or(1);
  });
}

// Whether the rule looks at what this rank leaves of its GPU, which others may use.
bool takes_gpu_as_its_own(const Finding& finding) {
  return finding.rule == "memory_unused" || finding.rule == "low_gpu_utilization";
}

bool has_all_ranks(std::span<const RankSummary* const> ranks) {
  const RankSummary& first = *ranks.front();
  return std::max<int64_t>(std::ssize(ranks), first.facts.merged_ranks) >= least_ranks(first);
}

// The comparison of all ranks shows how long they wait for each other.
void drop_doubt_about_waits(std::vector<Finding>& findings) {
  for (Finding& finding : findings) {
    const size_t doubt = finding.detail.rfind(kMayWait);
    if (doubt != std::string::npos) finding.detail.erase(doubt);
  }
}

// autotune sets the batch size in the DataLoader, or where the command names it.
void ask_for_placeholders(const Activity& activity, std::vector<Finding>& findings) {
  if (!activity.lacks_dataloader()) return;
  for (Finding& finding : findings) {
    if (finding.knob.starts_with("batch_size=")) finding.placeholder = "{batch_size}";
  }
}

}  // namespace

const char* severity_name(Severity severity) {
  switch (severity) {
    case Severity::kHigh:
      return "high";
    case Severity::kMedium:
      return "medium";
    default:
      return "low";
  }
}

std::string trial_of(const Finding& finding) {
  return finding.knob.empty() ? "" : "autotune --knob " + finding.knob;
}

std::string needs_of(const Finding& finding) {
  return finding.placeholder.empty() ? ""
                                     : fmt::format("with {} in the command", finding.placeholder);
}

std::string gain_number(double speedup) {
  return fmt::format("{:.{}f}", speedup, speedup < 100 ? 2 : 0);
}

std::vector<Finding> advise(const Analysis& analysis, unsigned threads) {
  std::vector<Finding> findings;
  if (analysis.step_times.mean_ns == 0) return findings;
  const Activity activity(analysis);
  for (const Rule rule : {startup_recorded, first_step_recorded}) {
    auto finding = rule(activity);
    if (!finding) continue;
    findings.push_back(std::move(*finding));
    rank_by_gain(findings);
    return findings;  // the other rules would take the start-up for training
  }
  const bool is_blind = analysis.lacks_gpu_work() || analysis.may_hide_gpu_work();
  const std::span<const Rule> rules = is_blind ? std::span<const Rule>(kRulesWithoutGpuRecords)
                                      : activity.lacks_pytorch()
                                          ? std::span<const Rule>(kRulesOfAnyProgram)
                                          : std::span<const Rule>(kRules);
  std::vector<std::optional<Finding>> found(rules.size());
  for_each_index(threads, rules.size(), [&](size_t i, unsigned) { found[i] = rules[i](activity); });
  for (auto& finding : found) {
    if (finding) findings.push_back(std::move(*finding));
  }
  if (activity.lacks_python()) {
    for (Finding& finding : findings) finding.knob.clear();
  }
  ask_for_placeholders(activity, findings);
  rank_by_gain(findings);
  return findings;
}

Analysis advised(Analysis analysis, unsigned threads) {
  StopWatch watch(nullptr);
  watch.run("advice", [&] {
    analysis.findings = advise(analysis, threads);
    analysis.longest_steps = longest_steps(*analysis.trace);
  });
  watch.append_to(analysis.times);
  return analysis;
}

std::vector<Finding> advise(std::span<const RankSummary* const> ranks,
                            const std::optional<RankComparison>& comparison) {
  if (ranks.empty()) return {};
  size_t slowest = 0;
  if (comparison) {
    const std::vector<bool> counts = count_in_means(ranks);
    for (size_t i = 1; i < ranks.size(); ++i) {
      const auto weight = [&](size_t rank) {
        return std::pair(comparison->times[rank].own_work_ns, bool{counts[rank]});
      };
      if (weight(i) > weight(slowest)) slowest = i;
    }
  }
  std::vector<Finding> findings = ranks[slowest]->findings;
  for (Finding& finding : findings) finding.trace = slowest;
  if (has_all_ranks(ranks)) drop_doubt_about_waits(findings);
  if (comparison) {
    if (comparison->gpu_sharing.is_shared(slowest)) std::erase_if(findings, takes_gpu_as_its_own);
    for (auto finding : {straggler(*comparison, ranks), gpu_shared(*comparison, ranks),
                         stray_contexts(*comparison, ranks)}) {
      if (finding) findings.push_back(std::move(*finding));
    }
  }
  rank_by_gain(findings);
  return findings;
}

}  // namespace redline::trace
