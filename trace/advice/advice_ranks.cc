#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "base/text_search.h"
#include "trace/advice/advice_rules.h"
#include "trace/emit/name_kinds.h"
#include "trace/model/slice_view.h"

namespace redline::trace {
namespace {

constexpr double kExposedShare = 0.05;  // of the step
constexpr double kSkewShare = 0.10;
constexpr int64_t kManyCalls = 100;        // a step
constexpr int64_t kShortCallNs = 500'000;  // too short to reach the link's rate
constexpr int64_t kFewExchanges = 8;       // a step: as many as tables of embeddings may need
constexpr const char* kDdpForward = "DistributedDataParallel.forward";

bool has_fsdp_ranges(const Trace& trace) {
  for (uint32_t i = 0; i < trace.string_count(); ++i) {
    const std::string_view name = trace.string(StringId{i});
    if (name.starts_with("FSDP::") || name.starts_with("FullyShardedDataParallel.")) return true;
  }
  return false;
}

// Whether gathering and scattering take most of the communication, as of sharded parameters and
// their gradients. Gathers alone may be the program's own, for example of a metric.
bool gathers_and_scatters(const Communication& communication) {
  int64_t gather_ns = 0, scatter_ns = 0, all_ns = 0;
  for (const Collective& row : communication.table) {
    const int64_t row_ns = row.total_ns.value_or(0);
    all_ns += row_ns;
    if (row.kind == CollectiveKind::kAllGather) gather_ns += row_ns;
    if (row.kind == CollectiveKind::kReduceScatter) scatter_ns += row_ns;
  }
  return gather_ns > 0 && scatter_ns > 0 && 2 * (gather_ns + scatter_ns) > all_ns;
}

// Whether most of the communication is sending and receiving, as between the stages of a pipeline
// or around the ring of ring attention.
// NCCL's all-to-all consists of sends and receives, too, but not of these calls of the program.
bool sends_and_receives(const RankSummary& rank) {
  if (!rank.names->find("c10d::send") && !rank.names->find("c10d::recv_")) return false;
  int64_t between_two_ns = 0, all_ns = 0;
  for (const Collective& row : rank.collectives) {
    const int64_t row_ns = row.total_ns.value_or(0);
    all_ns += row_ns;
    if (row.kind == CollectiveKind::kSendReceive) between_two_ns += row_ns;
  }
  return 2 * between_two_ns > all_ns;
}

// `calls` as Activity::step_count() counts steps. In a trace without marked steps that is one.
bool makes_small_calls(const Activity& activity, int64_t calls, int64_t mean_ns) {
  const auto steps = training_steps(activity);
  return steps && calls * activity.step_count() / *steps >= kManyCalls && mean_ns < kShortCallNs;
}

// Whether the collective may be of gradients, which a larger batch and accumulation make rarer.
bool may_reduce_gradients(CollectiveKind kind) {
  return kind != CollectiveKind::kBarrier && kind != CollectiveKind::kBroadcast &&
         kind != CollectiveKind::kGather && kind != CollectiveKind::kScatter;
}

// When the process asked for the collective.
int64_t asked_ns(const Activity& activity, const CollectiveCall& call) {
  return interval_of(activity.trace(), call.launch ? call.launch : call.slice).begin_ns;
}

// A trace may have collectives before its first step and in a last one that was cut off.
bool is_within_steps(const Activity& activity, const CollectiveCall& call) {
  return begins_in_steps(activity, call.launch ? call.launch : call.slice);
}

// Kernels' names do not tell: RCCL's are all alike, and NCCL gathers by "SendRecv", too.
bool is_exchange(CollectiveKind kind) {
  return kind == CollectiveKind::kAllToAll || kind == CollectiveKind::kSendReceive;
}

int64_t exchanges_a_step(const Activity& activity) {
  int64_t count = 0;
  for (const CollectiveCall& call : activity.analysis().communication.collectives.calls) {
    if (is_exchange(call.kind) && is_within_steps(activity, call)) ++count;
  }
  return count / activity.step_count();
}

// Most in exchanges, so many that they are of what the step itself computes, layer after layer.
bool exchanges_activations(const Activity& activity) {
  const auto steps = training_steps(activity);
  return steps && is_exchange(activity.analysis().communication.table.front().kind) &&
         exchanges_a_step(activity) * activity.step_count() / *steps > kFewExchanges;
}

/// When a product of a model began. Steps and updates begin with none of forward.
struct Product {
  int64_t begin_ns;
  bool is_forward;
};

std::vector<Product> products_of(const Activity& activity) {
  std::vector<Product> products;
  for (const Step& step : activity.analysis().steps) {
    products.push_back({step.host.begin_ns, false});
  }
  for (const SliceId update : activity.of(WorkKind::kOptimizer)) {
    products.push_back({interval_of(activity.trace(), update).begin_ns, false});
  }
  for (const WorkKind kind : {WorkKind::kMatrixOperator, WorkKind::kConvolution}) {
    for (const SliceId slice : activity.of(kind)) {
      const uint8_t kinds = activity.analysis().host_tree.kinds_around[slice.value];
      if ((kinds & kOptimizerName) != 0) continue;
      products.push_back(
          {interval_of(activity.trace(), slice).begin_ns, (kinds & kBackwardName) == 0});
    }
  }
  std::ranges::stable_sort(products, {}, &Product::begin_ns);
  return products;
}

/// Collectives of activations, as of layers that are split over ranks.
struct SplitLayers {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  int64_t calls = 0;  ///< a step, within forward; the others of such layers are in backward
};

// Sequence parallel layers gather and scatter where tensor parallel ones reduce. Parameters that
// are sharded are gathered within forward, too, but scattering is of gradients there. None if other
// collectives lead, or if those within forward take less than a third of the time of all of their
// kind. One between forward and backward may be of the loss.
SplitLayers split_layers(const Activity& activity) {
  const Communication& communication = activity.analysis().communication;
  SplitLayers split;
  const CollectiveKind leading = communication.table.front().kind;
  if (leading == CollectiveKind::kAllGather || leading == CollectiveKind::kReduceScatter) {
    split.kind = CollectiveKind::kReduceScatter;
  } else if (leading != split.kind) {
    return split;
  }
  const std::vector<Product> products = products_of(activity);
  int64_t count = 0, forward_ns = 0, all_ns = 0;
  bool feeds_forward = false;
  for (const CollectiveCall& call : communication.collectives.calls) {
    if (call.kind != split.kind || !is_within_steps(activity, call)) continue;
    const int64_t length_ns = interval_of(activity.trace(), call.slice).length_ns();
    all_ns += length_ns;
    const auto next =
        std::ranges::upper_bound(products, asked_ns(activity, call), {}, &Product::begin_ns);
    if (next == products.begin() || next == products.end()) continue;
    if (!std::prev(next)->is_forward) continue;
    ++count;
    forward_ns += length_ns;
    feeds_forward = feeds_forward || next->is_forward;
  }
  if (feeds_forward && 3 * forward_ns >= all_ns) split.calls = count / activity.step_count();
  return split;
}

// The cure depends on the collective that takes the most time, and on what it is of.
std::string cure_of(const Activity& activity, int64_t calls_a_step, int64_t mean_ns,
                    const SplitLayers& split) {
  const Analysis& analysis = activity.analysis();
  const Collective& longest = analysis.communication.table.front();
  if (sends_and_receives(analysis)) {
    return "most in send and receive: between stages of a pipeline, more microbatches a step, a "
           "schedule with smaller bubbles, or stages of equal length; in a ring, compute on one "
           "block while the next one is sent";
  }
  if (exchanges_activations(activity)) {
    return fmt::format(
        "{} exchanges{}, as of tokens between experts: compute something else beside them (shared "
        "experts, another microbatch), or spread the experts over fewer ranks",
        exchanges_a_step(activity), activity.a_step());
  }
  if (is_exchange(longest.kind) && !training_steps(activity)) {
    return "no steps are marked, so it may be of embeddings (exchange the next batch's while this "
           "one is computed) or of experts' tokens (compute something else beside it)";
  }
  if (is_exchange(longest.kind)) return "exchange the next batch's data while this one is computed";
  const bool gathers = longest.kind == CollectiveKind::kAllGather;
  if ((gathers || longest.kind == CollectiveKind::kReduceScatter) &&
      (has_fsdp_ranges(*analysis.trace) ||
       (split.calls == 0 && gathers_and_scatters(analysis.communication)))) {
    return "prefetch the next shard (backward_prefetch, forward_prefetch), or shard less";
  }
  if (split.calls > 0) {
    const bool reduces = split.kind == CollectiveKind::kAllReduce;
    return fmt::format(
        "{} {}{} within forward, as of {} parallel layers, which accumulation makes no rarer: "
        "split a layer over fewer ranks, or overlap them with products (async tensor parallel)",
        split.calls, reduces ? "all-reduces" : "reduce-scatters", activity.a_step(),
        reduces ? "tensor" : "sequence");
  }
  if (gathers) {
    return "most in all_gather, of no sharded model: gather metrics and counts less often than "
           "each step, or keep ranks equally busy (who comes first waits here)";
  }
  if (longest.kind == CollectiveKind::kBarrier) {
    return "most in barriers, where who comes first waits: keep ranks equally busy, or leave out "
           "those that the step does not need";
  }
  if (!may_reduce_gradients(longest.kind)) {
    return fmt::format("most in {}: send less, or less often than each step{}",
                       kind_name(longest.kind),
                       longest.kind == CollectiveKind::kBroadcast
                           ? " (DDP's broadcast_buffers=False sends no buffers)"
                           : "");
  }
  if (makes_small_calls(activity, calls_a_step, mean_ns)) {
    return fmt::format(
        "{} small calls{}: gather gradients in buckets (DDP's "
        "bucket_cap_mb), or a larger batch",
        format_count(calls_a_step), activity.a_step());
  }
  return has_room_for_a_larger_batch(activity)
             ? "larger batches, or accumulation under no_sync(), make it rarer"
             : "accumulation under no_sync() makes it rarer";
}

// How often DistributedDataParallel ran forward in the step, if as many all-reduces followed each
// time as after the last: then no_sync() is missing. Otherwise 0; also 0 if an optimizer steps
// between two of them, because that begins another update, as in a GAN.
int64_t reduced_forwards(const Activity& activity, Interval step, std::span<const SliceId> forwards,
                         std::span<const int64_t> reductions_ns) {
  const Trace& trace = activity.trace();
  std::vector<int64_t> begins;
  for (const SliceId forward : forwards) {
    const int64_t begin_ns = interval_of(trace, forward).begin_ns;
    if (begin_ns >= step.begin_ns && begin_ns < step.end_ns) begins.push_back(begin_ns);
  }
  if (begins.size() < 2) return 0;
  std::ranges::sort(begins);
  for (const SliceId update : activity.of(WorkKind::kOptimizer)) {
    const int64_t begin_ns = interval_of(trace, update).begin_ns;
    if (begin_ns > begins.front() && begin_ns < begins.back()) return 0;
  }
  const auto count = [&](int64_t begin_ns, int64_t end_ns) {
    return std::ranges::lower_bound(reductions_ns, end_ns) -
           std::ranges::lower_bound(reductions_ns, begin_ns);
  };
  const auto of_last = count(begins.back(), step.end_ns);
  for (size_t i = 0; i + 1 < begins.size(); ++i) {
    if (of_last == 0 || count(begins[i], begins[i + 1]) != of_last) return 0;
  }
  return static_cast<int64_t>(begins.size());
}

// The times at which the process launched each all-reduce, in order.
std::vector<int64_t> reductions_of(const Activity& activity) {
  std::vector<int64_t> times_ns;
  for (const CollectiveCall& call : activity.analysis().communication.collectives.calls) {
    if (call.kind == CollectiveKind::kAllReduce) times_ns.push_back(asked_ns(activity, call));
  }
  std::ranges::sort(times_ns);
  return times_ns;
}

// The slices of the collective that lie in the steps.
std::vector<SliceId> calls_of(const Activity& activity, const Collective& collective) {
  const Trace& trace = activity.trace();
  std::vector<SliceId> calls;
  for (const CollectiveCall& call : activity.analysis().communication.collectives.calls) {
    if (call.kind == collective.kind && name_of(trace, call.slice) == collective.name &&
        total_within_ns(activity.steps(), interval_of(trace, call.slice)) > 0) {
      calls.push_back(call.slice);
    }
  }
  return calls;
}

bool read_the_same(std::span<const RankSummary* const> ranks) {
  const std::string& digest = ranks.front()->facts.batches_digest;
  return !digest.empty() && std::ranges::all_of(ranks, [&](const RankSummary* rank) {
    return rank->facts.batches_digest == digest;
  });
}

std::string why_late(std::optional<WorkPart> part, std::span<const RankSummary* const> ranks) {
  const std::string most =
      part ? fmt::format(", most of the difference {}", place_of(*part)) : std::string();
  if (part == WorkPart::kDataLoader) {
    return most + ": look at the workers, the storage and the samples of this rank";
  }
  if (part == WorkPart::kHost) {
    return most + ": look for other work or a slower clock there, and for what only it does";
  }
  if (sends_and_receives(*ranks.front())) {
    return most + ": if ranks are stages of a pipeline, give its stage fewer layers";
  }
  if (read_the_same(ranks)) {
    return most + ": all ranks read the same samples, so look for what only this rank does";
  }
  return most +
         ": give each rank as much data of the same lengths (DistributedSampler), or look "
         "for what only this rank does";
}

}  // namespace

std::optional<Finding> communication(const Activity& activity) {
  const Analysis& analysis = activity.analysis();
  if (analysis.communication.table.empty()) return std::nullopt;
  const int64_t exposed_ns =
      mean_exposed_ns(analysis.communication, analysis.steps) * activity.step_count();
  const StepShare part(activity, exposed_ns);
  if (part.share <= kExposedShare) return std::nullopt;
  int64_t count = 0, time_ns = 0;
  for (const CollectiveCall& call : analysis.communication.collectives.calls) {
    if (!call.is_timed || !is_within_steps(activity, call)) continue;
    ++count;
    time_ns += interval_of(activity.trace(), call.slice).length_ns();
  }
  Finding finding = finding_on("communication", activity, exposed_ns);
  finding.headline =
      fmt::format("Exposed communication: {}{}", format_ns(part.per_step_ns), activity.a_step());
  const int64_t calls_a_step = count / activity.step_count();
  const int64_t mean_ns = count == 0 ? 0 : time_ns / count;
  const SplitLayers split = split_layers(activity);
  finding.detail = cure_of(activity, calls_a_step, mean_ns, split);
  if (least_ranks(analysis) > 1) finding.detail += kMayWait;
  const int64_t step_part_ns = time_ns / activity.step_count();
  finding.tell("communication_ns", step_part_ns);
  finding.tell("calls", count);
  finding.events =
      longest(activity.trace(), calls_of(activity, analysis.communication.table.front()));
  // A larger batch makes what they send, and bubbles, as much larger.
  if (sends_and_receives(analysis) || exchanges_activations(activity) || split.calls > 0 ||
      !may_reduce_gradients(analysis.communication.table.front().kind)) {
    return finding;
  }
  const bool has_ddp = bool{activity.trace().find_string(kDdpForward)};
  finding.knob = has_ddp && makes_small_calls(activity, calls_a_step, mean_ns)
                     ? "bucket_cap_mb=5,25,100"
                     : larger_batch_knob(activity);
  return finding;
}

std::optional<Finding> accumulation_reduces(const Activity& activity) {
  const Analysis& analysis = activity.analysis();
  const StringId name = activity.trace().find_string(kDdpForward);
  if (!name || analysis.communication.table.empty()) return std::nullopt;
  std::vector<SliceId> forwards;
  for_each_slice(activity.trace(), [&](SliceId slice, Category category) {
    if (is_host_node(category) && activity.trace().slices().name[slice.value] == name) {
      forwards.push_back(slice);
    }
  });
  const std::vector<int64_t> reductions_ns = reductions_of(activity);
  int64_t least = 0;
  for (const Step& step : analysis.steps) {
    const int64_t forwards_reduced = reduced_forwards(activity, step.host, forwards, reductions_ns);
    if (forwards_reduced < 2) return std::nullopt;
    least = least == 0 ? forwards_reduced : std::min(least, forwards_reduced);
  }
  const int64_t exposed_ns =
      mean_exposed_ns(analysis.communication, analysis.steps) * activity.step_count();
  const int64_t removable_ns = exposed_ns * (least - 1) / least;
  const StepShare part(activity, removable_ns);
  if (part.share <= kExposedShare) return std::nullopt;
  Finding finding = finding_on("accumulation_reduces", activity, removable_ns);
  finding.headline = fmt::format("Gradients are reduced {} times{}", least, activity.a_step());
  finding.detail = fmt::format(
      "{} of {}; once is enough: all but the last backward pass of each step under `with "
      "model.no_sync():`",
      format_percent(part.share), activity.the_step());
  finding.tell("reductions_a_step", least);
  finding.events = longest(activity.trace(), forwards);
  return finding;
}

std::vector<EvidenceEvent> longest_steps(const Trace& trace) {
  std::vector<bool> is_step(trace.string_count());
  for (uint32_t i = 0; i < is_step.size(); ++i) is_step[i] = is_step_name(trace.string({i}));
  std::vector<SliceId> steps;
  for_each_slice(trace, [&](SliceId slice, Category category) {
    const StringId name = trace.slices().name[slice.value];
    if (is_host_node(category) && name && is_step[name.value]) steps.push_back(slice);
  });
  return longest(trace, steps);
}

std::optional<Finding> straggler(const RankComparison& comparison,
                                 std::span<const RankSummary* const> ranks) {
  if (!comparison.straggler) return std::nullopt;
  const size_t late = *comparison.straggler;
  const int number = comparison.times[late].rank;
  int64_t step_ns = 1, waiting_ns = 0;
  for (size_t i = 0; i < comparison.times.size(); ++i) {
    if (comparison.times[i].own_work_ns) {
      step_ns = std::max(step_ns, comparison.times[i].step_ns);
    }
    if (i == late) continue;
    waiting_ns = std::max(waiting_ns, comparison.times[i].exposed_communication_ns.value_or(0));
  }
  // Ranks wait for each other only in collectives. A difference in their work without such waits
  // costs nothing.
  const int64_t late_ns = std::min(*comparison.skew_ns, waiting_ns);
  const double late_share = static_cast<double>(late_ns) / static_cast<double>(step_ns);
  if (late_share <= kSkewShare) return std::nullopt;
  Finding finding;
  finding.rule = "straggler";
  finding.estimated_speedup = speedup_without(late_ns, step_ns);
  finding.headline = fmt::format("Rank {} is late: others wait {}{}", number, format_ns(late_ns),
                                 ranks[late]->a_step());
  finding.detail = fmt::format("{} of {}{}", format_percent(late_share), ranks[late]->the_step(),
                               why_late(comparison.late_in, ranks));
  finding.tell("rank", number);
  finding.tell("removable_ns", late_ns);
  finding.tell("skew_ns", *comparison.skew_ns);
  finding.tell("step_share", late_share);
  finding.events = ranks[late]->longest_steps;
  finding.trace = late;
  return finding;
}

}  // namespace redline::trace
