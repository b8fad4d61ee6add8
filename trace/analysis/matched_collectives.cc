#include "trace/analysis/matched_collectives.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include "trace/analysis/steps.h"
#include "trace/emit/name_kinds.h"
#include "trace/model/slice_view.h"

namespace redline::trace {
namespace {

/// The steps that the trace numbers, all of them, by `host`.
std::vector<Step> numbered_steps(const Trace& trace) {
  constexpr size_t kPrefix = std::string_view("ProfilerStep#").size();
  std::vector<Step> steps;
  for_each_slice(trace, [&](SliceId slice, Category category) {
    if (category != Category::kUserAnnotation) return;
    const std::string_view name = name_of(trace, slice);
    if (!is_step_name(name)) return;
    int64_t number = 0;
    const auto parsed = std::from_chars(name.data() + kPrefix, name.data() + name.size(), number);
    const Interval host = interval_of(trace, slice);
    if (parsed.ec == std::errc()) steps.push_back({number, host, host});
  });
  std::sort(steps.begin(), steps.end(), [](const Step& left, const Step& right) {
    return left.host.begin_ns < right.host.begin_ns;
  });
  return steps;
}

bool is_timed(const Trace& trace, const CollectiveCall& call) {
  if (call.device != kHostDevice) return true;
  return is_host_collective(name_of(trace, call.slice));
}

// What is equal on all ranks for one collective: group (two), kind, size, step or sequence number,
// and the number of the call among those.
using Key =
    std::tuple<std::string_view, std::string_view, CollectiveKind, int64_t, int64_t, int64_t>;

struct KeyedCall {
  Key key;
  MatchedCollective::Call call;
};

class Matcher {
 public:
  explicit Matcher(std::span<const RankTrace> ranks) : ranks_(ranks) {
    for (const RankTrace& rank : ranks) steps_.push_back(numbered_steps(*rank.trace));
  }

  MatchedCollectives match() {
    MatchedCollectives matched;
    matched.by = best_way();
    for (uint32_t rank = 0; rank < ranks_.size(); ++rank) key_calls(rank, matched.by);
    std::sort(keyed_.begin(), keyed_.end(), [](const KeyedCall& left, const KeyedCall& right) {
      return std::tie(left.key, left.call.rank) < std::tie(right.key, right.call.rank);
    });
    for (size_t i = 0; i < keyed_.size();) {
      MatchedCollective one{std::get<CollectiveKind>(keyed_[i].key), {}};
      const size_t first = i;
      for (; i < keyed_.size() && keyed_[i].key == keyed_[first].key; ++i) {
        one.calls.push_back(keyed_[i].call);
      }
      if (one.calls.size() < 2) continue;
      if (matched.by == MatchedBy::kOrdinal && !is_equally_often(keyed_[first].key)) continue;
      matched.collectives.push_back(std::move(one));
    }
    return matched;
  }

 private:
  [[nodiscard]] MatchedBy best_way() const {
    const bool all_recorded = std::all_of(ranks_.begin(), ranks_.end(), [](const RankTrace& rank) {
      const auto& calls = rank.collectives->calls;
      return std::all_of(calls.begin(), calls.end(),
                         [](const CollectiveCall& call) { return call.seq_recorded; });
    });
    if (all_recorded) return MatchedBy::kSequenceNumber;
    const bool all_numbered =
        std::none_of(steps_.begin(), steps_.end(), [](const auto& steps) { return steps.empty(); });
    return all_numbered ? MatchedBy::kStep : MatchedBy::kOrdinal;
  }

  // If one rank has more calls of a kind than another, their first calls may not be the same
  // collective: a recording that began one collective later would look like a clock that is ahead.
  [[nodiscard]] bool is_equally_often(Key key) const {
    std::get<5>(key) = 0;
    std::optional<int64_t> count;
    for (const auto& of_rank : counts_) {
      const auto found = of_rank.find(key);
      if (found == of_rank.end()) continue;
      if (count.value_or(found->second) != found->second) return false;
      count = found->second;
    }
    return true;
  }

  void key_calls(uint32_t rank, MatchedBy by) {
    const Trace& trace = *ranks_[rank].trace;
    const CollectiveCalls& collectives = *ranks_[rank].collectives;
    std::map<Key, int64_t>& next = counts_.emplace_back();
    for (const CollectiveCall& call : collectives.calls) {
      if (!holds_all_ranks(call.kind) || !is_timed(trace, call)) continue;
      const ProcessGroup& group = collectives.groups[call.group];
      // Ranks of one all-to-all may hold messages of different sizes.
      int64_t size = call.kind == CollectiveKind::kAllToAll ? -1 : call.bytes, within = 0;
      if (by == MatchedBy::kSequenceNumber) {
        size = -1;
        within = call.seq;
      } else if (by == MatchedBy::kStep) {
        const SliceId host = call.launch ? call.launch : call.slice;
        const Step* step = step_at(steps_[rank], &Step::host, trace.slices().begin_ns[host.value]);
        if (!step) continue;
        within = *step->number;
      }
      Key key{group.name, group.ranks, call.kind, size, within, 0};
      std::get<5>(key) = next[key]++;
      const Interval interval = interval_of(trace, call.slice);
      keyed_.push_back({key, {rank, interval.begin_ns, interval.end_ns, call.slice}});
    }
  }

  std::span<const RankTrace> ranks_;
  std::vector<std::vector<Step>> steps_;
  std::vector<KeyedCall> keyed_;
  std::vector<std::map<Key, int64_t>> counts_;  // by rank: calls by key with ordinal 0
};

}  // namespace

MatchedCollectives match_collectives(std::span<const RankTrace> ranks) {
  return Matcher(ranks).match();
}

}  // namespace redline::trace
