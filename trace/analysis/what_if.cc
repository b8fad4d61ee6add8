#include "trace/analysis/what_if.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <regex>
#include <set>
#include <unordered_map>

#include "base/format.h"
#include "base/statistics.h"
#include "trace/analysis/replay.h"
#include "trace/analysis/what_if_shapes.h"
#include "trace/model/category.h"
#include "trace/model/loader_workers.h"
#include "trace/model/slice_view.h"

namespace redline::trace {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Of the predicted change: how far runs were from predictions in what_if.py (bench/README.md).
constexpr double kModelError = 0.15;
constexpr double kTail = 0.10;  // outside of the interval
constexpr double kLeastTimes = 1e-6, kMostTimes = 1e6;
// std::regex needs stack for every character that it matches. Of a longer name the beginning is
// read.
constexpr size_t kLongestMatchedName = 4096;
constexpr const char* kReadyBatches =
    "a batch that was ready stays so: how fast workers could be beyond what the job took, the "
    "trace does not show";

using Error = tl::unexpected<std::string>;

// What a knob may mean: at the least, as expected, at the most.
struct Meanings {
  Change least, expected, most;

  explicit Meanings(const Trace& trace) : least(trace), expected(trace), most(trace) {}

  void scale(SliceId slice, double by) { scale(slice, {by, by, by}); }
  void scale(SliceId slice, std::array<double, 3> by) {
    least.scale(slice, by[0]);
    expected.scale(slice, by[1]);
    most.scale(slice, by[2]);
  }
  void scale_loader(double by) {
    for (Change* each : {&least, &expected, &most}) each->loader_factor *= by;
  }
};

std::optional<double> times_of(const std::string& value) {
  if (!value.ends_with('x')) return std::nullopt;
  const double times = number_in(value.substr(0, value.size() - 1));
  return times > 0 ? std::optional(times) : std::nullopt;
}

// Where the trace has GPU work, kernels are those of the GPU; else operators take their place.
bool has_device(const Analysis& analysis) { return !analysis.device_work.rows.empty(); }

tl::expected<void, std::string> change_loader(const Analysis& analysis, const WhatIfKnob& knob,
                                              Meanings& changes, Prediction& said) {
  bool found = false;
  for_each_slice(*analysis.trace, [&](SliceId slice, Category category) {
    if (is_device_work(category) || !is_in_loader(analysis.host_tree, slice)) return;
    found = true;
    changes.scale(slice, 1 / knob.times);
  });
  if (!found) return Error("the trace has no DataLoader");
  changes.scale_loader(1 / knob.times);
  if (knob.times < kInfinity) said.notes.emplace_back(kReadyBatches);
  return {};
}

// The share of a collective that went into waiting for those ranks whose traces are there; at the
// least gain, as expected, at the most, as far as clocks may be off.
struct WaitShare {
  std::array<double, 3> shares;
  size_t ranks = 0;
};
using WaitShares = std::unordered_map<uint32_t, WaitShare>;  // by slice

// Whether all ranks of the collective are among the known ones, so that no other was later.
bool has_all_ranks(const Analysis& analysis, const CollectiveCall& call, const WaitShare& wait) {
  const int64_t of_group =
      call.ranks > 0 ? call.ranks : analysis.trace->metadata().world_size.value_or(INT32_MAX);
  return static_cast<int64_t>(wait.ranks) >= of_group;
}

// Of a collective's time only what did not go into waiting for other ranks depends on the network.
tl::expected<void, std::string> change_collectives(const Analysis& analysis, const WhatIfKnob& knob,
                                                   const WaitShares& waits, Meanings& changes,
                                                   Prediction& said) {
  const auto& calls = analysis.communication.collectives.calls;
  if (calls.empty()) return Error("the trace has no collectives");
  if (!analysis.communication.is_timed) {
    return Error(
        "the trace does not tell how long collectives take: NCCL's need the GPU in the trace");
  }
  // In a job of unknown size, too, they may have waited.
  const bool is_one_of_many = analysis.trace->metadata().world_size.value_or(2) > 1;
  const double least = is_one_of_many ? 1 : 1 / knob.times;
  size_t known = 0;
  for (const CollectiveCall& call : calls) {
    const auto found = waits.find(call.slice.value);
    if (found == waits.end()) {
      changes.scale(call.slice, {least, 1 / knob.times, 1 / knob.times});
      continue;
    }
    std::array<double, 3> factor = found->second.shares;
    for (double& share : factor) share += (1 - share) / knob.times;
    if (has_all_ranks(analysis, call, found->second)) {
      ++known;
    } else {
      factor[0] = least;
    }
    changes.scale(call.slice, factor);
  }
  if (is_one_of_many && known == 0) {
    said.notes.emplace_back(
        "how much of a collective was waiting for other ranks, only the traces of all show: the "
        "interval reaches to no gain at all");
  } else if (is_one_of_many && known < calls.size()) {
    said.notes.push_back("how much of " + std::to_string(calls.size() - known) + " of " +
                         std::to_string(calls.size()) +
                         " collectives was waiting for other ranks, the traces do not show: the "
                         "interval reaches to no gain in these");
  }
  return {};
}

tl::expected<void, std::string> change_kernels(const Analysis& analysis, const WhatIfKnob& knob,
                                               Meanings& changes, Prediction& said) {
  const Trace& trace = *analysis.trace;
  std::vector<bool> matches(trace.string_count());
  const std::regex pattern(knob.pattern);
  for (uint32_t i = 0; i < matches.size(); ++i) {
    const std::string_view name = trace.string(StringId{i}).substr(0, kLongestMatchedName);
    matches[i] = std::regex_search(name.begin(), name.end(), pattern);
  }
  size_t found = 0;
  if (has_device(analysis)) {
    for (const DeviceWork& work : analysis.device_work.rows) {
      if (!work.name || !matches[work.name.value]) continue;
      ++found;
      changes.scale(work.slice, 1 / knob.times);
    }
    if (found == 0) return Error("no kernel's name matches " + knob.pattern);
    return {};
  }
  // What such an operator calls belongs to it.
  std::vector<bool> inside(trace.slice_count());
  for_each_slice(trace, [&](SliceId slice, Category category) {
    const SliceId parent = analysis.host_tree.parent[slice.value];
    const StringId name = trace.slices().name[slice.value];
    const bool is_match = category == Category::kCpuOp && name && matches[name.value];
    inside[slice.value] = is_match || (parent && inside[parent.value]);
    if (!inside[slice.value]) return;
    ++found;
    changes.scale(slice, 1 / knob.times);
  });
  if (found == 0) return Error("no operator's name matches " + knob.pattern);
  said.notes.emplace_back("the trace has no GPU work: the pattern is that of operators' names");
  return {};
}

tl::expected<void, std::string> change_shapes(const Analysis& analysis, const WhatIfKnob& knob,
                                              Meanings& changes, Prediction& said) {
  const auto factors = knob.kind == WhatIfKind::kAmp ? factors_of_bf16(analysis)
                                                     : factors_of_batch(analysis, knob.times);
  if (!factors) return Error(factors.error());
  for (const SliceFactor& each : factors->slices) {
    changes.scale(each.slice, {each.least, each.expected, each.most});
  }
  said.notes.insert(said.notes.end(), factors->notes.begin(), factors->notes.end());
  if (knob.kind == WhatIfKind::kAmp) return {};
  said.samples *= knob.times;
  changes.scale_loader(knob.times);
  bool has_workers = false;
  for_each_slice(*analysis.trace, [&](SliceId slice, Category category) {
    if (is_device_work(category) || !is_in_loader(analysis.host_tree, slice)) return;
    changes.scale(slice, knob.times);
    has_workers = has_workers || is_of_workers(name_of(*analysis.trace, slice));
  });
  if (has_workers && knob.times > 1) said.notes.emplace_back(kReadyBatches);
  return {};
}

double mean_of(const std::vector<int64_t>& lengths_ns) {
  double sum = 0;
  for (const int64_t each : lengths_ns) sum += static_cast<double>(each);
  return sum / static_cast<double>(lengths_ns.size());
}

// How far the means of two recordings of the same job are apart.
double noise_of(const StepTimes& times) {
  if (times.count < 2) return 0;
  const auto count = static_cast<double>(times.count);
  return student_t(count - 1, kTail) * static_cast<double>(times.deviation_ns) *
         std::sqrt(2 / count);
}

// All that becomes shorter takes no time, and nothing becomes longer: no knob does more.
Change utmost(Change change) {
  const auto limit = [](auto& factor) { factor = factor < 1 ? 0 : 1; };
  for (float& factor : change.factor) limit(factor);
  limit(change.loader_factor);
  return change;
}

void set_interval(const Analysis& analysis, const Meanings& changes, bool may_cost,
                  Prediction& said) {
  said.new_ns = mean_of(replay(analysis, changes.expected));
  const double at_least = mean_of(replay(analysis, changes.most));
  const double at_most = mean_of(replay(analysis, changes.least));
  const double noise_ns = noise_of(analysis.step_times);
  const double model_ns = kModelError * std::abs(said.new_ns - said.step_ns);
  const double beside_ns = std::sqrt(noise_ns * noise_ns + model_ns * model_ns);
  said.low_ns = std::max({std::min({at_least, at_most, said.new_ns}) - beside_ns,
                          mean_of(replay(analysis, utmost(changes.most))) - model_ns, 0.0});
  said.high_ns = std::max({at_least, at_most, said.new_ns}) + beside_ns;
  if (!may_cost) said.high_ns = std::min(said.high_ns, std::max(said.step_ns, said.new_ns));
  if (analysis.step_times.count < 2) {
    said.notes.emplace_back("one step does not show how much steps differ: the interval lacks it");
  }
}

// The rank that the others wait for most, and the one that is to be replayed without these waits.
struct Straggler {
  size_t late = 0, other = 0;
};

Straggler straggler_of(const RankComparison& comparison) {
  const auto own_ns = [&](size_t rank) { return comparison.times[rank].own_work_ns; };
  Straggler found;
  for (size_t i = 0; i < comparison.times.size(); ++i) {
    if (own_ns(i) > own_ns(found.late)) found.late = i;
  }
  found.other = found.late == 0 ? 1 : 0;
  for (size_t i = 0; i < comparison.times.size(); ++i) {
    if (i != found.late && own_ns(i) > own_ns(found.other)) found.other = i;
  }
  return found;
}

// How long a rank waited in a collective: until the last of all ranks was there, and until the last
// of those that are not late.
struct CollectiveWait {
  SliceId slice;
  int64_t length_ns = 0;
  int64_t all_ns = 0, others_ns = 0;
  int64_t unsure_ns = 0;
  size_t ranks = 0;
};

std::optional<CollectiveWait> wait_in(const MatchedCollective& collective,
                                      const RankComparison& comparison, size_t rank,
                                      std::optional<size_t> late) {
  CollectiveWait wait;
  int64_t own_ns = 0, all_ns = INT64_MIN, others_ns = INT64_MIN;
  for (const MatchedCollective::Call& call : collective.calls) {
    const auto& clock = comparison.clocks[call.rank];
    if (!clock) continue;
    ++wait.ranks;
    const int64_t there_ns = call.begin_ns + clock->at(call.begin_ns);
    wait.unsure_ns = std::max(wait.unsure_ns, clock->uncertainty_ns);
    all_ns = std::max(all_ns, there_ns);
    if (late != call.rank) others_ns = std::max(others_ns, there_ns);
    if (call.rank != rank) continue;
    own_ns = there_ns;
    wait.slice = call.slice;
    wait.length_ns = call.end_ns - call.begin_ns;
  }
  if (wait.length_ns <= 0) return std::nullopt;
  wait.all_ns = all_ns - own_ns;
  wait.others_ns = others_ns - own_ns;
  return wait;
}

// Of a collective's time that is left when nobody waits for the late rank: the share until the last
// of the others was there, if all came by so much later.
double wait_share(const CollectiveWait& wait, int64_t later_ns) {
  const int64_t left_ns = wait.length_ns - std::min(wait.all_ns - wait.others_ns, wait.length_ns);
  const int64_t waited_ns = std::clamp<int64_t>(wait.all_ns + later_ns, 0, wait.length_ns);
  const int64_t network_ns = std::min(wait.length_ns - waited_ns, left_ns);
  if (left_ns == 0) return 1;
  return 1 - static_cast<double>(network_ns) / static_cast<double>(left_ns);
}

// Of the rank `analysis`. `cured`: its collectives do not wait for the straggler any more.
WaitShares wait_shares(std::span<const Analysis* const> ranks, const Analysis* analysis,
                       const std::optional<RankComparison>& comparison, bool cured) {
  WaitShares shares;
  if (!comparison || !comparison->waits) return shares;
  const auto rank = static_cast<size_t>(std::ranges::find(ranks, analysis) - ranks.begin());
  std::optional<size_t> late;
  if (cured) late = straggler_of(*comparison).late;
  for (const MatchedCollective& collective : comparison->matched.collectives) {
    const auto wait = wait_in(collective, *comparison, rank, late);
    // A rank that had ended before another one came was in another collective: a wrong match.
    if (!wait || wait->all_ns > wait->length_ns + wait->unsure_ns) continue;
    shares[wait->slice.value] = {{wait_share(*wait, wait->unsure_ns), wait_share(*wait, 0),
                                  wait_share(*wait, -wait->unsure_ns)},
                                 wait->ranks};
  }
  return shares;
}

// The rank with the longest work but for the straggler, in whose collectives nobody waits for the
// straggler any more: only until the last of the others is there.
tl::expected<const Analysis*, std::string> cure_straggler(
    std::span<const Analysis* const> ranks, const std::optional<RankComparison>& comparison,
    std::optional<Meanings>& changes, Prediction& said) {
  if (!comparison || !comparison->waits) {
    return Error(
        "a straggler is known only by the traces of all ranks with matching collectives: give "
        "the folder of the ranks");
  }
  const Straggler found = straggler_of(*comparison);
  const Analysis& other = *ranks[found.other];
  changes.emplace(*other.trace);
  for (const MatchedCollective& collective : comparison->matched.collectives) {
    const auto wait = wait_in(collective, *comparison, found.other, found.late);
    if (!wait) continue;
    const int64_t saved_ns = std::min(wait->all_ns - wait->others_ns, wait->length_ns);
    const double left = 1 - static_cast<double>(saved_ns) / static_cast<double>(wait->length_ns);
    changes->scale(wait->slice, left);
  }
  said.notes.push_back("rank " + std::to_string(comparison->times[found.late].rank) +
                       " is as fast as rank " +
                       std::to_string(comparison->times[found.other].rank) +
                       ", whose recording is replayed without waiting for it");
  return &other;
}

const Analysis& slowest_of(std::span<const Analysis* const> ranks) {
  return **std::ranges::max_element(
      ranks, {}, [](const Analysis* analysis) { return analysis->step_times.mean_ns; });
}

tl::expected<void, std::string> apply(const Analysis& analysis, const WhatIfKnob& knob,
                                      const WaitShares& waits, Meanings& changes,
                                      Prediction& said) {
  switch (knob.kind) {
    case WhatIfKind::kLoader:
      return change_loader(analysis, knob, changes, said);
    case WhatIfKind::kCollectives:
      return change_collectives(analysis, knob, waits, changes, said);
    case WhatIfKind::kKernels:
      return change_kernels(analysis, knob, changes, said);
    case WhatIfKind::kAmp:
    case WhatIfKind::kBatchSize:
      return change_shapes(analysis, knob, changes, said);
    case WhatIfKind::kStraggler:
      break;
  }
  return {};
}

}  // namespace

tl::expected<WhatIfKnob, std::string> read_what_if_knob(const std::string& text) {
  // A regular expression may have signs of equality, too.
  const size_t equals = text.rfind('=');
  const std::string name = text.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : text.substr(equals + 1);
  const auto times = times_of(value);
  if (times && (*times < kLeastTimes || *times > kMostTimes)) {
    return Error("'" + text + "': give a size from 0.000001x to 1000000x");
  }
  WhatIfKnob knob;
  knob.text = text;
  knob.times = times.value_or(kInfinity);
  constexpr std::string_view kKernels = "kernels:";
  if (name == "loader" && (times || value == "free")) return knob;
  if (name == "collectives" && (times || value == "free")) {
    knob.kind = WhatIfKind::kCollectives;
    return knob;
  }
  if (name == "batch_size" && times) {
    knob.kind = WhatIfKind::kBatchSize;
    return knob;
  }
  if (text == "amp=bf16") {
    knob.kind = WhatIfKind::kAmp;
    return knob;
  }
  if (text == "straggler=cured") {
    knob.kind = WhatIfKind::kStraggler;
    return knob;
  }
  if (name.starts_with(kKernels) && (times || value == "free")) {
    knob.kind = WhatIfKind::kKernels;
    knob.pattern = name.substr(kKernels.size());
    try {
      const std::regex check(knob.pattern);
      if (!knob.pattern.empty()) return knob;
    } catch (const std::regex_error& error) {
      return Error("'" + knob.pattern + "' is no regular expression: " + error.what());
    }
  }
  return Error("'" + text +
               "' is no change. Give loader=free, loader=2x, collectives=2x, "
               "kernels:REGEX=1.5x, amp=bf16, batch_size=2x or straggler=cured");
}

tl::expected<Prediction, std::string> what_if(std::span<const Analysis* const> ranks,
                                              std::span<const WhatIfKnob> knobs,
                                              const std::optional<RankComparison>& comparison) {
  Prediction said;
  const Analysis* analysis = &slowest_of(ranks);
  if (analysis->steps.empty()) return Error("the trace has no step");
  said.step_ns = static_cast<double>(analysis->step_times.mean_ns);
  std::optional<Meanings> changes;
  const bool cures = std::ranges::any_of(
      knobs, [](const WhatIfKnob& knob) { return knob.kind == WhatIfKind::kStraggler; });
  if (cures) {
    const auto other = cure_straggler(ranks, comparison, changes, said);
    if (!other) return Error(other.error());
    analysis = *other;
  } else {
    changes.emplace(*analysis->trace);
  }
  const WaitShares waits = wait_shares(ranks, analysis, comparison, cures);
  for (const WhatIfKnob& knob : knobs) {
    if (auto done = apply(*analysis, knob, waits, *changes, said); !done) {
      return Error(knob.text + ": " + done.error());
    }
  }
  std::set<std::string> known;  // knobs of one kind may say the same
  std::erase_if(said.notes, [&](const std::string& note) { return !known.insert(note).second; });
  said.steps = analysis->step_times.count;
  const bool may_cost = std::ranges::any_of(knobs, [](const WhatIfKnob& knob) {
    if (knob.kind == WhatIfKind::kBatchSize) return knob.times > 1;
    return knob.kind == WhatIfKind::kAmp || knob.times < 1;
  });
  set_interval(*analysis, *changes, may_cost, said);
  return said;
}

}  // namespace redline::trace
