#include "trace/analysis/matched_collectives.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace redline::trace {
namespace {

// What is equal on all ranks for one collective: group, kind, size, step or sequence number, and
// the number of the call among those. A job of thousands of ranks has millions of calls.
struct Key {
  uint32_t group = 0;  // in the order of names
  CollectiveKind kind = CollectiveKind::kOther;
  int64_t size = 0;
  int64_t within = 0;
  int64_t ordinal = 0;

  auto operator<=>(const Key&) const = default;
  [[nodiscard]] bool differs_only_in_ordinal(const Key& other) const {
    return std::tie(group, kind, size, within) ==
           std::tie(other.group, other.kind, other.size, other.within);
  }
};

struct KeyedCall {
  Key key;
  MatchedCollective::Call call;
};

bool is_before(const KeyedCall& left, const KeyedCall& right) {
  return std::tie(left.key, left.call.rank) < std::tie(right.key, right.call.rank);
}

class Matcher {
 public:
  explicit Matcher(std::span<const RankCollectives* const> ranks) : ranks_(ranks) {
    for (const RankCollectives* rank : ranks) {
      for (const ProcessGroup& group : rank->groups) groups_[{group.name, group.ranks}] = 0;
    }
    uint32_t place = 0;
    for (auto& [group, number] : groups_) number = place++;
  }

  MatchedCollectives match() {
    MatchedCollectives matched;
    matched.by = best_way();
    for (uint32_t rank = 0; rank < ranks_.size(); ++rank) key_calls(rank, matched.by);
    std::ranges::sort(keyed_, is_before);
    for (size_t i = 0; i < keyed_.size();) {
      size_t end = i;
      while (end < keyed_.size() && keyed_[end].key.differs_only_in_ordinal(keyed_[i].key)) ++end;
      add_calls(i, end, matched);
      i = end;
    }
    return matched;
  }

 private:
  [[nodiscard]] MatchedBy best_way() const {
    const auto all_have = [&](bool RankCollectives::*numbers) {
      return std::ranges::all_of(ranks_,
                                 [&](const RankCollectives* rank) { return rank->*numbers; });
    };
    if (all_have(&RankCollectives::has_seqs)) return MatchedBy::kSequenceNumber;
    return all_have(&RankCollectives::has_numbered_steps) ? MatchedBy::kStep : MatchedBy::kOrdinal;
  }

  // Adds the collectives of calls whose keys differ only in the ordinal.
  void add_calls(size_t first, size_t end, MatchedCollectives& matched) const {
    const size_t old = matched.collectives.size();
    bool is_equally_often = true;
    size_t count_of_first = 0;
    for (size_t i = first; i < end;) {
      MatchedCollective one{keyed_[i].key.kind, {}};
      const Key& key = keyed_[i].key;
      for (; i < end && keyed_[i].key == key; ++i) one.calls.push_back(keyed_[i].call);
      if (count_of_first == 0) count_of_first = one.calls.size();
      is_equally_often = is_equally_often && one.calls.size() == count_of_first;
      if (one.calls.size() >= 2) matched.collectives.push_back(std::move(one));
    }
    // If one rank has more calls of a kind than another, their first calls may not be the same
    // collective: a recording that began one collective later would look like a clock that is
    // ahead.
    if (matched.by == MatchedBy::kOrdinal && !is_equally_often) matched.collectives.resize(old);
  }

  void key_calls(uint32_t rank, MatchedBy by) {
    const RankCollectives& collectives = *ranks_[rank];
    const size_t first = keyed_.size();
    for (const TimedCall& call : collectives.calls) {
      const ProcessGroup& group = collectives.groups[call.group];
      Key key{.group = groups_.at({group.name, group.ranks}), .kind = call.kind};
      // Ranks of one all-to-all may hold messages of different sizes.
      key.size = call.kind == CollectiveKind::kAllToAll ? -1 : call.bytes;
      if (by == MatchedBy::kSequenceNumber) {
        key.size = -1;
        key.within = call.seq;
      } else if (by == MatchedBy::kStep) {
        if (call.step == TimedCall::kNoStep) continue;
        key.within = call.step;
      }
      keyed_.push_back({key, {rank, call.begin_ns, call.end_ns, call.slice}});
    }
    const auto begin = keyed_.begin() + static_cast<std::ptrdiff_t>(first);
    std::stable_sort(begin, keyed_.end(), is_before);
    for (size_t i = first + 1; i < keyed_.size(); ++i) {
      if (!keyed_[i].key.differs_only_in_ordinal(keyed_[i - 1].key)) continue;
      keyed_[i].key.ordinal = keyed_[i - 1].key.ordinal + 1;
    }
  }

  std::span<const RankCollectives* const> ranks_;
  std::map<std::pair<std::string_view, std::string_view>, uint32_t> groups_;
  std::vector<KeyedCall> keyed_;
};

}  // namespace

MatchedCollectives match_collectives(std::span<const RankCollectives* const> ranks) {
  return Matcher(ranks).match();
}

}  // namespace redline::trace
