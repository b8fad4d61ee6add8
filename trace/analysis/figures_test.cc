// All figures of made-up jobs (tests/random_job.h), as sums: a change that nobody meant shows in
// one. Whoever means it looks at the lines that differ, and copies the new file.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/kept_sums.h"
#include "tests/parsed_trace.h"
#include "tests/random_job.h"
#include "trace/advice/advice.h"
#include "trace/analysis/activity.h"
#include "trace/analysis/call_tree.h"
#include "trace/analysis/hang.h"
#include "trace/analysis/module_rows.h"
#include "trace/analysis/rank_spread.h"
#include "trace/analysis/replay.h"
#include "trace/analysis/run_tables.h"
#include "trace/analysis/tables.h"
#include "trace/analysis/what_if.h"
#include "trace/report/hang_words.h"
#include "trace/report/report.h"

namespace redline::trace {
namespace {

using nlohmann::json;
using namespace redline::testing;

void add_findings(Sums& sums, const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    const std::string name = "advice." + finding.rule;
    sums.add(name, finding.headline + finding.detail + finding.knob);
    sums.add(name, finding.estimated_speedup.value_or(0));
    sums.add(name,
             static_cast<double>(finding.severity) + 10.0 * static_cast<double>(finding.trace));
    for (const auto& [what, value] : finding.evidence) sums.add(name + "." + what, value);
    for (const EvidenceEvent& event : finding.events) {
      sums.add(name + ".events", event.name);
      sums.add(name + ".events", static_cast<double>(event.begin_ns + 2 * event.end_ns) +
                                     (event.slice ? event.slice.value : 0.5));
    }
  }
}

void add_replays(Sums& sums, const Analysis& analysis) {
  Change change(*analysis.trace);
  const auto lengths = [&](const char* name) {
    for (const int64_t ns : replay(analysis, change)) sums.add(name, static_cast<double>(ns));
  };
  lengths("replay.unchanged");
  for (uint32_t i = 0; i < analysis.trace->slice_count(); i += 3) change.scale(SliceId{i}, 0.25);
  change.loader_factor = 0.5;
  lengths("replay.a third four times as fast");
  for (uint32_t i = 1; i < analysis.trace->slice_count(); i += 3) change.scale(SliceId{i}, 3);
  lengths("replay.a third slower");
}

void add_samples(Sums& sums, const char* kind, const SamplesByName& samples) {
  for (const auto& [name, each] : samples) {
    sums.add(std::string(kind), name);
    for (const double ns : each.ns) sums.add(std::string(kind) + ".ns", ns);
    sums.add(std::string(kind) + ".mean_ns", each.mean_ns);
    sums.add(std::string(kind) + ".mean_count", each.mean_count);
  }
}

void add_tree(Sums& sums, const CallTree& tree) {
  for (const CallNode& node : tree.nodes) {
    sums.add("call_tree", node.name + node.type);
    sums.add("call_tree.parent", static_cast<double>(node.parent));
    sums.add("call_tree.calls", node.calls);
    sums.add("call_tree.host_ns", node.host_ns);
    for (const auto& [name, work] : node.work) {
      sums.add("call_tree.work", name);
      sums.add("call_tree.work", work.count + work.ns);
    }
  }
  for (size_t pass = 0; pass < kModulePassCount; ++pass) {
    const CallWork taken = tree.taken(0, static_cast<ModulePass>(pass), tree.has_gpu);
    sums.add("call_tree.taken", taken.ns + taken.count);
  }
}

void add_predictions(Sums& sums, const std::vector<Analysis>& ranks) {
  std::vector<const Analysis*> pointers;
  for (const Analysis& rank : ranks) pointers.push_back(&rank);
  const auto summaries = pointers_to(ranks);
  const auto comparison = compare_ranks(summaries, rank_numbers(summaries));
  for (const char* text :
       {"loader=free", "loader=2x", "collectives=2x", "collectives=free", "kernels:gemm=1.5x",
        "amp=bf16", "batch_size=2x", "batch_size=0.5x", "straggler=cured"}) {
    const std::string name = std::string("what_if ") + text;
    const WhatIfKnob knob = read_what_if_knob(text).value();
    const auto prediction = what_if(pointers, {&knob, 1}, comparison);
    if (!prediction) {
      sums.add(name, prediction.error());
      continue;
    }
    sums.add(name + ".steps", static_cast<double>(prediction->steps));
    sums.add(name + ".step_ns", prediction->step_ns);
    sums.add(name + ".new_ns", prediction->new_ns);
    sums.add(name + ".low_ns", prediction->low_ns);
    sums.add(name + ".high_ns", prediction->high_ns);
    sums.add(name + ".samples", prediction->samples);
    for (const std::string& note : prediction->notes) sums.add(name + ".notes", note);
  }
}

double sum_of_work(const ModulePasses& passes) {
  double sum = 0;
  for (const ModuleWork& work : passes) {
    sum = 3 * sum + static_cast<double>(work.calls + work.host_ns + 2 * work.device_ns);
  }
  return sum;
}

// What the tables of all ranks together say, and how the ranks' own work is spread.
void add_merged(Sums& sums, const std::vector<RankSummary>& ranks) {
  const auto of = [](const auto& row) { return static_cast<double>(row.total_ns + row.count); };
  for (const KernelRow& row : merged_kernels(ranks)) {
    sums.add("merged.kernels", of(row) + static_cast<double>(row.min_ns + row.max_ns));
    sums.add("merged.kernels.per SM", row.blocks_per_sm.value_or(-1) + row.occupancy.value_or(-1));
  }
  for (const OperatorRow& row : merged_operators(ranks)) {
    sums.add("merged.operators", of(row) + static_cast<double>(row.self_ns + row.device_total_ns));
  }
  for (const CopyRow& row : merged_copies(ranks)) {
    sums.add("merged.copies", of(row) + static_cast<double>(row.bytes));
    sums.add("merged.copies.bandwidth", row.bandwidth().value_or(-1));
  }
  for (const Collective& row : merged_collectives(ranks)) {
    sums.add("merged.collectives", static_cast<double>(row.total_ns.value_or(-1) + row.count));
  }
  for (const double weight : rank_weights(ranks)) sums.add("rank_weights", weight);
  const ModuleRows modules = module_rows(ranks);
  sums.add("module_rows", modules.has_gpu + 2.0 * modules.has_names + 4.0 * modules.has_memory +
                              8.0 * modules.has_flops);
  for (const ModuleRow& row : modules.rows) {
    sums.add("module_rows", row.label + " " + row.type + " " + row.frame);
    sums.add("module_rows.self", sum_of_work(row.self));
    sums.add("module_rows.total", sum_of_work(row.total));
    sums.add("module_rows.more", static_cast<double>(row.depth + row.modules + row.exposed_ns +
                                                     row.allocated_bytes + 3 * row.kept_bytes));
  }
  const auto pointers = pointers_to(ranks);
  const auto comparison = compare_ranks(pointers, rank_numbers(pointers));
  if (!comparison) return;
  const RankSpread spread = spread_of(comparison->times, pointers);
  sums.add("spread", static_cast<double>(spread.least_ns + 2 * spread.median_ns +
                                         3 * spread.most_ns + 5 * spread.limit_ns));
  for (const int64_t bin : spread.bins) sums.add("spread.bins", static_cast<double>(bin));
  for (const size_t rank : spread.outliers) sums.add("spread.outliers", static_cast<double>(rank));
  for (const RankGroup& group : spread.slow_groups) sums.add("spread.groups", group.name);
  for (size_t i = 0; i < comparison->times.size(); ++i) {
    sums.add("straggler_mark", straggler_mark(*comparison, i));
  }
}

void add_rank(Sums& sums, const Analysis& analysis) {
  add_findings(sums, advise(analysis));
  add_replays(sums, analysis);
  const Interval half{analysis.trace->begin_ns(),
                      (analysis.trace->begin_ns() + analysis.trace->end_ns()) / 2};
  const NameKinds names(*analysis.trace);
  for (const int64_t part_ns : analysis.own_work) {
    sums.add("own_work", static_cast<double>(part_ns));
  }
  for (const HostPhases& phases :
       host_phases(*analysis.trace, analysis.host_tree, analysis.steps)) {
    for (const int64_t ns : phases.phase_ns) sums.add("host_phases", static_cast<double>(ns));
    sums.add("host_phases.dataloader", static_cast<double>(phases.dataloader_ns));
  }
  for (const GpuUse& gpu : analysis.gpus) {
    for (const DeviceSpan& span : device_states(analysis.device_work, gpu.device, half)) {
      sums.add("device_states", static_cast<double>(span.interval.begin_ns) +
                                    3 * static_cast<double>(span.interval.end_ns) +
                                    static_cast<double>(span.state));
    }
    for (const QueuePoint& point :
         queue_changes(*analysis.trace, analysis.device_work, gpu.device)) {
      sums.add("queue_changes", static_cast<double>(point.time_ns + 1000 * point.length));
    }
  }
  const Communication within = communication_within(
      *analysis.trace, analysis.communication.collectives, analysis.host_tree, half);
  for (const Collective& row : within.table) {
    sums.add("collectives within", static_cast<double>(row.total_ns.value_or(-1) + row.count));
  }
  for (const KernelRow& row : kernel_table(*analysis.trace, analysis.device_work, half)) {
    sums.add("kernels within", static_cast<double>(row.total_ns + row.count));
  }
  for (const OperatorRow& row :
       operator_table(*analysis.trace, names, analysis.device_work, analysis.host_tree, half)) {
    sums.add("operators within",
             static_cast<double>(row.self_ns + row.device_total_ns + row.count));
  }
  for (const MemoryPeak& peak : memory_peaks_within(*analysis.trace, analysis.host_tree, half)) {
    sums.add("memory within", static_cast<double>(peak.allocated_bytes + peak.peak_time_ns));
  }
}

void add_job(Sums& sums, uint64_t seed, int world_size) {
  std::vector<Analysis> ranks;
  std::vector<std::shared_ptr<const Trace>> traces;
  for (int rank = 0; rank < world_size; ++rank) {
    traces.push_back(parsed(RandomRank(seed, rank, world_size).json()));
    ASSERT_TRUE(traces.back()) << "seed " << seed << ", rank " << rank;
    ranks.push_back(analyze(traces.back()));
    add_rank(sums, ranks.back());
  }
  const json report = json::parse(report_json(make_report(traces)));
  sums.add("report", report);
  // A summary outlives its trace, and says the same.
  const auto names = std::make_shared<StringTable>();
  std::vector<RankSummary> summaries;
  for (const Analysis& rank : ranks) summaries.push_back(detached(advised(rank), names));
  add_merged(sums, summaries);
  const json of_summaries = json::parse(report_json(make_report(std::move(summaries))));
  EXPECT_EQ(json::diff(report, of_summaries).dump(), "[]") << "seed " << seed;
  add_predictions(sums, ranks);
  add_tree(sums, call_tree(ranks));
  const RunSamples samples = sample_steps(ranks);
  for (const double ns : samples.step_ns) sums.add("samples.step_ns", ns);
  add_samples(sums, "samples.kernels", samples.kernels);
  add_samples(sums, "samples.operators", samples.operators);
  add_samples(sums, "samples.collectives", samples.collectives);
  add_samples(sums, "samples.copies", samples.copies);
}

// Two clocks that differ by an offset and a drift, ends that scatter, and some wrong matches.
void add_offset(Sums& sums, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](int64_t limit_ns) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(limit_ns));
  };
  const int64_t offset_ns = below(2'000'000) - 1'000'000, scatter_ns = 1 + below(40'000);
  const double drift = seed % 3 == 0 ? 2e-5 : 0;
  std::vector<CollectiveEnds> pairs;
  for (int64_t i = 0, count = 1 + below(60); i < count; ++i) {
    const int64_t end_ns = 1'000'000'000 + i * 20'000'000;
    const int64_t others_ns = end_ns + offset_ns +
                              std::llround(drift * static_cast<double>(end_ns)) +
                              below(scatter_ns) + (below(12) == 0 ? below(9'000'000) : 0);
    const int64_t early_ns = below(900'000), late_ns = below(900'000);
    pairs.push_back(
        {{end_ns - 100'000 - early_ns, end_ns}, {others_ns - 100'000 - late_ns, others_ns}});
  }
  const auto clock = estimate_offset(pairs);
  ASSERT_TRUE(clock);
  sums.add("clock.offset_ns", static_cast<double>(clock->offset_ns));
  sums.add("clock.uncertainty_ns", static_cast<double>(clock->uncertainty_ns));
  sums.add("clock.drift", clock->drift * 1e9);
  sums.add("clock.at_ns", static_cast<double>(clock->at_ns));
  sums.add("clock.pairs", static_cast<double>(clock->pairs + 1000 * clock->outliers));
  sums.add("clock.later", static_cast<double>(clock->at(2'000'000'000)));
  sums.add("clock", offset_text(*clock));
}

/// What kind of a job it is, by its seed.
enum class Trouble { kAny, kNoCollective, kEnded, kOneMissing, kOtherSteps, kOrder, kManyRanks };

// The collectives of a group up to the number `last`.
void enter(HangTable& table, const char* group, int64_t last, bool is_last_done, bool is_odd) {
  for (int64_t number = 1; number <= last; ++number) {
    table.collectives.push_back(
        {group, number, is_odd && number == last ? "all_gather" : "all_reduce",
         is_odd && table.rank > 1 ? "[[16]]" : "[[8]]", "Float", number != last || is_last_done,
         100'000'000'000 - (10 - number) * 7'000'000'000 + table.rank});
  }
}

std::vector<HangTable> made_up_tables(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto one_in = [&](uint64_t n) { return random() % n == 0; };
  const auto trouble = static_cast<Trouble>(seed % 7);
  const int size = trouble == Trouble::kManyRanks      ? 11
                   : trouble == Trouble::kNoCollective ? 1 + static_cast<int>(seed / 7 % 3)
                                                       : 2 + static_cast<int>(random() % 4);
  const int culprit = static_cast<int>(random() % static_cast<uint64_t>(size));
  std::vector<HangTable> tables;
  for (int rank = 0; rank < size; ++rank) {
    if (trouble != Trouble::kNoCollective && one_in(15)) continue;
    HangTable& table = tables.emplace_back();
    table.run = "1.1", table.rank = rank, table.world_size = size;
    table.host = "node" + std::to_string(rank / 2);
    table.written_ns =
        one_in(20) ? 0 : 100'000'000'000 - static_cast<int64_t>(random() % 90) * 1'000'000'000;
    table.is_overdue = !one_in(4);
    const bool is_ahead = trouble == Trouble::kOtherSteps ? one_in(2) : one_in(20);
    if (!one_in(10)) table.step = 60 + static_cast<int64_t>(is_ahead);
    table.step_began_ns = 40'000'000'000 + rank;
    constexpr std::array<const char*, 6> kPhases = {"evaluation", "checkpoint", "compile",
                                                    "data",       "start",      "other"};
    if (one_in(10)) table.phase = kPhases[random() % kPhases.size()];
    table.is_moving = one_in(20);
    constexpr std::array<const char*, 3> kErrors = {"ValueError: no such file", "Timed out waiting",
                                                    "DistBackendError: timeout"};
    if (one_in(trouble == Trouble::kEnded ? 2 : 10)) table.error = kErrors[random() % 3];
    if (one_in(12)) table.memory_error = "CUDA out of memory";
    const bool is_gone = trouble == Trouble::kEnded && !one_in(20);
    table.state = is_gone ? ThreadState::kGone : static_cast<ThreadState>(random() % 7);
    for (uint64_t i = random() % 5; i > 0; --i)
      table.stack.push_back("train.py:" + std::to_string(i));
    if (one_in(4)) table.inner = "distributed_c10d.py:2501 all_reduce";
    if (one_in(5)) table.inner = "dataloader.py:1295 _try_get_data";
    for (const bool is_second : {false, true}) {
      const char* name = is_second ? "tp" : "0";
      CollectiveGroup group{name, {}, 0};
      for (int member = 0; member < size; ++member) group.ranks.push_back(member);
      if (one_in(12)) group.ranks.clear();
      int64_t last = 3;
      bool is_done = is_second ? !one_in(6) : one_in(6), is_odd = false;
      switch (trouble) {
        case Trouble::kNoCollective:
          is_done = true;
          break;
        case Trouble::kOneMissing:
          is_done = is_second;
          last = rank == culprit && !is_second ? 2 : 3;
          break;
        case Trouble::kOrder:
          is_done = false;
          last = (rank % 2 == 0) == is_second ? 2 : 3;
          if (last == 2) is_done = true;
          break;
        default:
          last -= static_cast<int64_t>(one_in(5)) - static_cast<int64_t>(one_in(12));
          is_odd = one_in(trouble == Trouble::kOtherSteps ? 3 : 8);
      }
      if (one_in(2)) group.entered = last;
      table.groups.push_back(group);
      enter(table, name, last, is_done, is_odd);
    }
  }
  return tables;
}

void add_hang(Sums& sums, const std::string& name, const std::optional<Hang>& hang) {
  sums.add(name, std::string(hang ? hang_kind_name(hang->kind) : "none"));
  if (!hang) return;
  for (const int rank : hang->ranks) sums.add(name + ".ranks", rank);
  for (const int rank : hang->waiting_ranks) sums.add(name + ".waiting_ranks", rank);
  sums.add(name + ".since_ns", static_cast<double>(hang->since_ns));
  sums.add(name + ".sequence", static_cast<double>(hang->sequence.value_or(-1)));
  sums.add(name + ".step", static_cast<double>(hang->step.value_or(-1)));
  sums.add(name, hang->group + hang->operation + hang->entered + hang->expected + hang->host +
                     hang->inner + hang->phase + hang->error + (hang->has_failed ? "failed" : ""));
  for (const std::string& frame : hang->stack) sums.add(name + ".stack", frame);
  sums.add(name, std::string(hang_title(*hang)));
  for (const std::string& line : hang_lines(*hang, 100'000'000'000)) sums.add(name, line);
}

TEST(Figures, OfMadeUpJobsStayWhatTheyAre) {
  Sums sums;
  for (uint64_t seed = 1; seed <= 50; ++seed) add_job(sums, seed, 1);
  for (uint64_t seed = 61; seed <= 100; ++seed) add_job(sums, seed, 2 + static_cast<int>(seed % 3));
  for (uint64_t seed = 1; seed <= 60; ++seed) add_offset(sums, seed);
  for (uint64_t seed = 1; seed <= 900; ++seed) {
    add_hang(sums, "hang", find_hang(made_up_tables(seed)));
    add_hang(sums, "wait", find_wait(made_up_tables(seed)));
  }
  sums.expect_kept("trace/analysis/figures.txt");
}

}  // namespace
}  // namespace redline::trace
