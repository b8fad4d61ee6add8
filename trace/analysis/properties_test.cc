// What holds for every trace, tried on made-up ones (tests/random_job.h): the same job, recorded
// otherwise, has the same figures.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "tests/parsed_trace.h"
#include "tests/random_job.h"
#include "tests/repeated_steps.h"
#include "trace/analysis/replay.h"
#include "trace/report/diff.h"
#include "trace/report/report.h"

namespace redline::trace {
namespace {

using nlohmann::json;
using namespace redline::testing;

constexpr uint64_t kSeeds = 25;

json figures_of(uint64_t seed, const Recorded& recorded = {}) {
  return json::parse(report_json(make_report({parsed(RandomRank(seed, 0, 1, recorded).json())})));
}

Analysis made_up(uint64_t seed, const Recorded& recorded = {}) {
  return analyze(parsed(RandomRank(seed, 0, 1, recorded).json()));
}

bool ends_with_one_of(const std::string& text, std::initializer_list<const char*> ends) {
  return std::any_of(ends.begin(), ends.end(),
                     [&](const char* end) { return text.ends_with(end); });
}

TEST(Properties, ATraceThatIsMovedHasOtherTimesAndNothingElse) {
  constexpr int64_t kMoved = 7'000'123;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const json before = figures_of(seed);
    for (const json& each : json::diff(before, figures_of(seed, {.moved_ns = kMoved}))) {
      const std::string path = each["path"];
      SCOPED_TRACE(fmt::format("seed {}: {}", seed, path));
      ASSERT_TRUE(ends_with_one_of(path, {"/begin_ns", "/end_ns", "/peak_at_ns"}));
      EXPECT_EQ(each["value"].get<int64_t>(),
                before.at(json::json_pointer(path)).get<int64_t>() + kMoved);
    }
  }
}

TEST(Properties, NumbersOfThreadsDoNotMatter) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    for (const json& each : json::diff(figures_of(seed), figures_of(seed, {.threads_from = 40}))) {
      const std::string path = each["path"];  // an event's number is its place in the table
      EXPECT_TRUE(ends_with_one_of(path, {"/id", "/event"})) << "seed " << seed << ": " << path;
    }
  }
}

std::string renamed(std::string text) {
  // Of the same length and order, as some columns have a width and equal times stand by name.
  constexpr std::array<std::pair<std::string_view, std::string_view>, 15> kNames = {{
      {"pt_autograd_0", "pt_autograd_1"},
      {"copy stream", "core stream"},
      {"MulBackward0", "MuxBackward0"},
      {"Lion.step", "Lipn.step"},
      {"Model", "Modem"},
      {"Block", "Blocs"},
      {"Linear", "Linger"},
      {"vectorized_elementwise", "vectorised_elementwise"},
      {"volta_sgemm", "volts_sgemm"},
      {"winograd_nonfused", "winograd_nonfuzed"},
      {"softmax_warp_forward", "softmax_wars_forward"},
      {"indexSelectLargeIndex", "indexSelectLargeIndey"},
      {"multi_tensor_apply", "multi_tensor_appls"},
      {"tp_group", "tq_group"},
      {"Made up", "Made us"},
  }};
  for (const auto& [before, after] : kNames) {
    for (size_t at = 0; (at = text.find(before, at)) != std::string::npos; at += after.size()) {
      text.replace(at, before.size(), after);
    }
  }
  return text;
}

/// The job with names for the thread of its backward pass and for a stream.
std::string with_names(std::string job) {
  constexpr std::string_view kEvents = "\"traceEvents\": [";
  return job.insert(job.find(kEvents) + kEvents.size(),
                    R"({"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "ts": 0,
                        "args": {"name": "pt_autograd_0"}},
                       {"ph": "M", "name": "thread_name", "pid": 0, "tid": 7, "ts": 0,
                        "args": {"name": "copy stream"}},)");
}

TEST(Properties, NamesOfOperatorsKernelsModulesThreadsAndStreamsOnlyNameThem) {
  size_t changed = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const std::string job = with_names(RandomRank(seed).json());
    const auto text_of = [](const std::string& trace) {
      const Report report = make_report({parsed(trace)});
      return report_json(report) + report_text(report, {});
    };
    const std::string before = text_of(job);
    EXPECT_EQ(text_of(renamed(job)), renamed(before)) << "seed " << seed;
    changed += renamed(before) != before ? 1 : 0;
  }
  EXPECT_EQ(changed, kSeeds);
}

/// The figures with 70 added to the numbers of streams, which are keys in "queue".
json with_other_streams(json figures) {
  for (json& trace : figures["traces"]) {
    const json queues = std::exchange(trace["queue"], nullptr);
    for (const auto& [stream, queue] : queues.items()) {
      const size_t begin = stream.rfind('/') + 1;
      const int number = std::stoi(stream.substr(begin)) + 70;
      trace["queue"][stream.substr(0, begin) + std::to_string(number)] = queue;
    }
  }
  const json flat = figures.flatten();
  for (const auto& [path, value] : flat.items()) {
    if (path.ends_with("/stream") && value.is_number())
      figures[json::json_pointer(path)] = value.get<int>() + 70;
  }
  return figures;
}

TEST(Properties, NumbersOfStreamsDoNotMatter) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    EXPECT_EQ(
        json::diff(with_other_streams(figures_of(seed)), figures_of(seed, {.streams_from = 70})),
        json::array())
        << "seed " << seed;
  }
}

TEST(Properties, WhereAllTakesThreeTimesAsLongSoDoesEachPart) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const json before = figures_of(seed)["traces"][0];
    const json after = figures_of(seed, {.times = 3})["traces"][0];
    for (const char* part : {"steps", "step_breakdown_ns", "phases", "gpus", "kernels", "operators",
                             "collectives", "modules"}) {
      const json was = before[part].flatten(), is = after[part].flatten();
      ASSERT_EQ(was.size(), is.size()) << "seed " << seed << ", " << part;
      for (const auto& [path, value] : was.items()) {
        if (!value.is_number() || path.find("bandwidth") != std::string::npos) continue;
        const bool is_time = path.ends_with("_ns") || path.find("_ns/") != std::string::npos ||
                             std::string_view(part).ends_with("_ns");
        // Means are whole nanoseconds.
        EXPECT_NEAR(is[path].get<double>(), value.get<double>() * (is_time ? 3 : 1),
                    is_time ? 3 : 1e-9 * std::abs(value.get<double>()))
            << "seed " << seed << ", " << part << path;
      }
    }
  }
}

/// Whether a figure of a trace's report is a sum over all that was recorded, and not a mean.
bool is_total(std::string_view part, const std::string& path) {
  if (part == "steps" || part == "step_breakdown_ns" || part == "phases") return false;
  return path.find("/mix_ns/") != std::string::npos ||
         (ends_with_one_of(path, {"_ns", "/count", "/calls", "bytes", "/flops"}) &&
          !ends_with_one_of(path, {"mean_ns", "min_ns", "max_ns"}));
}

TEST(Properties, OfThreeTimesAsManyStepsTotalsAreThriceAndMeansTheSame) {
  int compared = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const std::string longer = repeated(RandomRank(seed).json(), 3);
    if (longer.empty()) continue;
    const json once = figures_of(seed)["traces"][0];
    const json thrice = json::parse(report_json(make_report({parsed(longer)})))["traces"][0];
    // A last step that was cut off does not count, unless more come after it.
    if (thrice["steps"]["count"] != 3 * once["steps"]["count"].get<int>()) continue;
    for (const char* part : {"steps", "step_breakdown_ns", "phases", "gpus", "kernels", "operators",
                             "collectives", "copies", "modules"}) {
      const json was = once[part].flatten(), is = thrice[part].flatten();
      for (const auto& [path, value] : was.items()) {
        SCOPED_TRACE(fmt::format("seed {}, {}{}", seed, part, path));
        // The deviation and percentiles of few values depend on how many there are. A GPU idles
        // also between the last work of a step and the first of the next one.
        if (!value.is_number() || path.find("bandwidth/") != std::string::npos ||
            (part == std::string_view("steps") && !path.ends_with("mean_ns")) ||
            ends_with_one_of(path, {"idle_ns", "span_ns", "memory_bytes", "utilization",
                                    "occupancy", "sm_efficiency"})) {
          continue;
        }
        ASSERT_TRUE(is.contains(path));
        const double wanted = value.get<double>() * (is_total(part, path) ? 3 : 1);
        EXPECT_NEAR(is[path].get<double>(), wanted, 1e-9 * std::abs(wanted));
        ++compared;
      }
    }
  }
  EXPECT_GE(compared, 2000);
}

TEST(Properties, PartsSumToTheWhole) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const Analysis analysis = made_up(seed);
    const auto sum = [](const auto& parts) {
      return std::accumulate(parts.begin(), parts.end(), int64_t{0});
    };
    const auto rounding = static_cast<double>(kStepPartCount);
    const auto mean_ns = static_cast<double>(analysis.step_times.mean_ns);
    EXPECT_NEAR(static_cast<double>(sum(analysis.breakdown.part_ns)), mean_ns, rounding);
    EXPECT_NEAR(static_cast<double>(sum(analysis.critical_path->mean_ns)), mean_ns, rounding);
    ASSERT_EQ(analysis.breakdown.of_steps.size(), analysis.steps.size());
    for (size_t i = 0; i < analysis.steps.size(); ++i) {
      EXPECT_EQ(sum(analysis.breakdown.of_steps[i]), analysis.steps[i].window.length_ns());
    }
    for (const GpuUse& gpu : analysis.gpus) {
      EXPECT_EQ(gpu.busy_ns + gpu.idle_ns, gpu.span_ns);
      EXPECT_EQ(sum(gpu.mix_ns), gpu.busy_ns);
    }
    // What nothing changes happens again as it was.
    const auto again = replay(analysis, Change(*analysis.trace));
    for (size_t i = 0; i < again.size(); ++i) {
      EXPECT_EQ(again[i], analysis.steps[i].window.length_ns()) << "step " << i;
    }
  }
}

TEST(Properties, AnIdleTailIsOnlyIdle) {
  constexpr int64_t kTail = 40 * kMs;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const Analysis before = made_up(seed), after = made_up(seed, {.idle_tail_ns = kTail});
    if (!before.has_marked_steps() || before.steps.size() != after.steps.size()) continue;
    // Work of other threads and GPUs that goes on after the last step would be in its tail.
    if (before.trace->end_ns() > before.steps.back().window.end_ns) continue;
    const auto parts = [](const Analysis& analysis) { return analysis.breakdown.of_steps.back(); };
    const auto other = static_cast<size_t>(BreakdownPart::kOther);
    for (size_t i = 0; i < kBreakdownPartCount; ++i) {
      if (i == other) continue;
      EXPECT_EQ(parts(after)[i], parts(before)[i]) << kBreakdownPartNames[i];
    }
    EXPECT_LE(parts(after)[other] - parts(before)[other], kTail);
    ASSERT_EQ(after.kernels.size(), before.kernels.size());
    ASSERT_EQ(after.operators.size(), before.operators.size());
    for (size_t i = 0; i < before.operators.size(); ++i) {
      EXPECT_EQ(after.operators[i].self_ns, before.operators[i].self_ns);
      EXPECT_EQ(after.operators[i].device_total_ns, before.operators[i].device_total_ns);
    }
  }
}

void expect_opposite(const std::vector<DiffRow>& there, const std::vector<DiffRow>& back) {
  const auto sums = [](const std::vector<DiffRow>& rows, int sign) {
    std::map<std::string, std::pair<int64_t, double>> sums;
    for (const DiffRow& row : rows) {
      sums[row.name] = {sign * row.delta_ns(), sign * (row.after_count - row.before_count)};
    }
    return sums;
  };
  EXPECT_EQ(sums(there, 1), sums(back, -1));
}

TEST(Properties, ADiffWithItselfIsNothingAndBackwardItIsTheOpposite) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const Traces first = {parsed(RandomRank(seed).json())};
    const Traces second = {parsed(RandomRank(seed + 1).json())};
    const Diff nothing = compare_runs(first, first);
    const Diff there = compare_runs(first, second);
    const Diff back = compare_runs(second, first);
    if (there.basis_samples) continue;  // each side's own number of samples is the basis
    for (const auto rows :
         {&Diff::breakdown, &Diff::kernels, &Diff::operators, &Diff::collectives, &Diff::copies}) {
      for (const DiffRow& row : nothing.*rows) EXPECT_EQ(row.delta_ns(), 0) << row.name;
      expect_opposite(there.*rows, back.*rows);
    }
    EXPECT_EQ(nothing.after.step_ns, nothing.before.step_ns);
    EXPECT_EQ(there.after.step_ns, back.before.step_ns);
  }
}

}  // namespace
}  // namespace redline::trace
