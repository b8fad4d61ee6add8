#include "trace/analysis/hang.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

namespace redline::trace {
namespace {

constexpr const char*
    kKindNames[] = {"slow",   "not_entered", "skipped",      "mismatch", "order",
                    "died",   "stopped",     "computes",     "data",     "lock",
                    "sleeps", "io",          "out_of_memory"};  // in the order of HangKind

using Place = std::pair<std::string, int64_t>;  // a group and a number in it

// Operations whose inputs have the same sizes on all ranks.
bool has_equal_sizes(std::string_view operation) {
  constexpr std::string_view kEqual[] = {"all_reduce", "broadcast", "reduce", "all_gather",
                                         "reduce_scatter"};
  return std::ranges::any_of(kEqual,
                             [&](std::string_view name) { return operation.starts_with(name); });
}

std::string signature_of(const EnteredCollective& entered) {
  if (!has_equal_sizes(entered.operation)) return entered.operation;
  return entered.operation + " " + entered.sizes + " " + entered.types;
}

const EnteredCollective* find_entry(const HangTable& table, const Place& place) {
  for (const EnteredCollective& entry : table.collectives) {
    if (entry.group == place.first && entry.sequence == place.second) return &entry;
  }
  return nullptr;
}

bool lists_later(const HangTable& table, const Place& place) {
  return std::ranges::any_of(table.collectives, [&](const EnteredCollective& entry) {
    return entry.group == place.first && entry.sequence > place.second;
  });
}

// Whether the rank has entered the collective, which its table need not list.
bool is_past(const HangTable& table, const Place& place) {
  const auto has_entered = [&](const CollectiveGroup& group) {
    return group.name == place.first && group.entered >= place.second && group.entered > 0;
  };
  return lists_later(table, place) || std::ranges::any_of(table.groups, has_entered);
}

class Judge {
 public:
  explicit Judge(std::span<const HangTable> ranks) : ranks_(ranks) {
    for (const HangTable& table : ranks_) world_ = std::max(world_, table.world_size);
  }

  std::optional<Hang> judge() {
    std::map<std::string, int64_t> first;
    for (const HangTable& table : ranks_) {
      for (const EnteredCollective* entry : pending_of(table)) {
        auto [known, is_new] = first.try_emplace(entry->group, entry->sequence);
        if (!is_new) known->second = std::min(known->second, entry->sequence);
      }
    }
    if (first.empty()) return has_ended() ? judge_ended() : judge_without_collectives();
    std::vector<Hang> hangs;
    for (const auto& place : first) {
      if (auto hang = judge_place(place)) hangs.push_back(*std::move(hang));
    }
    if (slow_) return slow_;
    auto hang = choose(std::move(hangs));
    if (!has_ended()) return hang;
    // That a rank has ended says nothing where all have.
    if (!hang || (hang->kind == HangKind::kDied && hang->error.empty())) return judge_ended();
    hang->has_failed = true;
    return hang;
  }

 private:
  [[nodiscard]] bool has_ended() const {
    return std::ranges::all_of(
        ranks_, [](const HangTable& table) { return table.state == ThreadState::kGone; });
  }

  // The first collective of each group that the rank has entered and that is not done.
  std::vector<const EnteredCollective*> pending_of(const HangTable& table) const {
    std::map<std::string, const EnteredCollective*> first;
    for (const EnteredCollective& entry : table.collectives) {
      if (!entry.is_done && !is_over(entry)) first.try_emplace(entry.group, &entry);
    }
    std::vector<const EnteredCollective*> pending;
    for (const auto& [group, entry] : first) pending.push_back(entry);
    return pending;
  }

  // Whether a rank is out of a collective that nobody leaves before all are in it. A table that
  // still has somebody in there is an old one, unless that one entered it with other sizes: then
  // the others may be out, and it never will. What is not done is listed however old it is.
  bool is_over(const EnteredCollective& entry) const {
    const bool needs_all =
        entry.operation.starts_with("all") || entry.operation.starts_with("barrier");
    if (!needs_all) return false;
    const Place place(entry.group, entry.sequence);
    const std::string signature = signature_of(entry);
    const std::pair key(place, signature);
    if (const auto known = over_.find(key); known != over_.end()) return known->second;
    return over_[key] = std::ranges::any_of(ranks_, [&](const HangTable& table) {
             const EnteredCollective* other = find_entry(table, place);
             if (other == nullptr) return lists_later(table, place);
             return other->is_done && signature_of(*other) == signature;
           });
  }

  // Who raised an exception of its own, and not one that another rank's end caused.
  [[nodiscard]] std::optional<Hang> judge_ended() const {
    if (world_ < 2) return std::nullopt;
    Hang hang;
    hang.has_failed = true;
    for (const HangTable& table : ranks_) {
      const bool is_culprit = !table.error.empty() && pending_of(table).empty();
      if (!is_culprit) continue;
      if (hang.ranks.empty()) hang.kind = kind_of(table);
      hang.ranks.push_back(table.rank);
      hang.step = std::max(hang.step, table.step);
    }
    if (hang.ranks.empty()) return std::nullopt;
    describe_culprit(hang);
    return hang;
  }

  // Of several groups that hang, the culprit is a rank that waits in none of them; if each waits
  // for another, they took the groups in different orders.
  std::optional<Hang> choose(std::vector<Hang> hangs) const {
    if (hangs.empty()) return std::nullopt;
    std::ranges::stable_sort(hangs, {}, &Hang::since_ns);
    for (Hang& hang : hangs) {
      if (!waits_elsewhere(hang)) return std::move(hang);
    }
    return disorder(std::move(hangs));
  }

  // The rank that most others wait for has taken the groups in the wrong order. Where no group has
  // most, it cannot be known who is wrong, and all are named.
  static Hang disorder(std::vector<Hang> hangs) {
    std::ranges::stable_sort(hangs, std::greater(),
                             [](const Hang& hang) { return hang.waiting_ranks.size(); });
    Hang hang = hangs.front();
    hang.kind = HangKind::kOrder;
    if (hangs.size() < 2 || hangs[1].waiting_ranks.size() < hang.waiting_ranks.size()) return hang;
    hang.waiting_ranks.clear();
    for (const Hang& other : hangs) {
      hang.ranks.insert(hang.ranks.end(), other.ranks.begin(), other.ranks.end());
    }
    std::ranges::sort(hang.ranks);
    hang.ranks.erase(std::unique(hang.ranks.begin(), hang.ranks.end()), hang.ranks.end());
    return hang;
  }

  [[nodiscard]] bool waits_elsewhere(const Hang& hang) const {
    if (!hang.entered.empty()) return false;  // it waits in this one, too
    return std::ranges::all_of(hang.ranks, [&](int rank) {
      const HangTable* table = find(rank);
      return table != nullptr && !pending_of(*table).empty();
    });
  }

  [[nodiscard]] const HangTable* find(int rank) const {
    for (const HangTable& table : ranks_) {
      if (table.rank == rank) return &table;
    }
    return nullptr;
  }

  // Empty if the ranks of the group are not known.
  [[nodiscard]] std::vector<int> members_of(const std::string& group) const {
    for (const HangTable& table : ranks_) {
      for (const CollectiveGroup& known : table.groups) {
        if (known.name == group && !known.ranks.empty()) return known.ranks;
      }
    }
    return {};
  }

  std::optional<Hang> judge_place(const Place& place) {
    Hang hang;
    hang.group = place.first;
    hang.sequence = place.second;
    std::vector<int> entered, missing;
    for (const int rank : members_of(place.first)) {
      const HangTable* table = find(rank);
      const EnteredCollective* entry = table == nullptr ? nullptr : find_entry(*table, place);
      if (entry != nullptr) {
        entered.push_back(rank);
        if (hang.since_ns == 0 || entry->entered_ns < hang.since_ns) {
          hang.since_ns = entry->entered_ns;
        }
      } else if (table == nullptr || !is_past(*table, place)) {
        missing.push_back(rank);
      }
    }
    if (entered.empty()) return std::nullopt;
    if (auto sides = sides_of(hang, entered); sides.size() > 1) {
      return mismatch(std::move(hang), std::move(sides));
    }
    hang.waiting_ranks = std::move(entered);
    const HangTable& waiting = *find(hang.waiting_ranks.front());
    hang.operation = find_entry(waiting, place)->operation;
    hang.step = waiting.step;
    if (missing.empty()) {  // all are in it: only one that was stopped in there can be named
      const std::vector<int> members = members_of(place.first);
      missing = of_state(members, ThreadState::kStopped);
      if (missing.empty()) missing = of_state(members, ThreadState::kGone);
      std::erase_if(hang.waiting_ranks,
                    [&](int rank) { return std::ranges::find(missing, rank) != missing.end(); });
    }
    if (missing.empty() || hang.waiting_ranks.empty()) return std::nullopt;
    return absence(std::move(hang), missing);
  }

  // What ranks entered under one number: an operation of a step.
  struct Side {
    std::string signature;
    std::string operation;
    int64_t step = 0;
    std::vector<int> ranks;
  };

  [[nodiscard]] std::vector<Side> sides_of(const Hang& hang, const std::vector<int>& ranks) const {
    std::vector<Side> sides;
    for (const int rank : ranks) {
      const HangTable& table = *find(rank);
      const EnteredCollective& entry = *find_entry(table, {hang.group, *hang.sequence});
      const Side own{signature_of(entry), entry.operation, table.step.value_or(0), {rank}};
      const auto same = std::ranges::find_if(sides, [&](const Side& side) {
        return side.signature == own.signature && side.step == own.step;
      });
      same == sides.end() ? sides.push_back(own) : same->ranks.push_back(rank);
    }
    std::ranges::stable_sort(sides, std::greater(),
                             [](const Side& side) { return side.ranks.size(); });
    return sides;
  }

  // The ranks of `sides` entered different collectives under one number. The largest side is right.
  // If two are as large, ranks that do the same in a later step have left one out; otherwise it
  // cannot be known who is wrong, and all are named, once no other rank can still decide it.
  std::optional<Hang> mismatch(Hang hang, std::vector<Side> sides) const {
    bool is_known = sides[0].ranks.size() > sides[1].ranks.size();
    if (!is_known && sides.size() == 2 && lacked_memory(sides[0]) != lacked_memory(sides[1])) {
      if (lacked_memory(sides[0])) std::swap(sides[0], sides[1]);
      is_known = true;
    }
    if (!is_known && sides.size() == 2 && sides[0].operation == sides[1].operation &&
        sides[0].step != sides[1].step) {
      if (sides[0].step > sides[1].step) std::swap(sides[0], sides[1]);
      is_known = true;
    }
    if (!is_known && is_awaited(hang)) return std::nullopt;
    hang.kind = HangKind::kMismatch;
    if (is_known && std::all_of(sides.begin() + 1, sides.end(),
                                [&](const Side& side) { return side.step > sides[0].step; })) {
      hang.kind = HangKind::kSkipped;
    }
    if (is_known) hang.waiting_ranks = sides[0].ranks;
    for (size_t i = is_known ? 1 : 0; i < sides.size(); ++i) {
      hang.ranks.insert(hang.ranks.end(), sides[i].ranks.begin(), sides[i].ranks.end());
    }
    std::ranges::sort(hang.ranks);
    hang.expected = sides[0].signature;
    hang.entered = sides[1].signature;
    hang.operation = sides[0].operation;
    hang.step = find(sides[0].ranks.front())->step;
    if (is_known && lacked_memory(sides[1])) hang.kind = HangKind::kOutOfMemory;
    describe_culprit(hang);
    return hang;
  }

  // Whether another rank of the group does not list the collective yet, but may soon: it only lists
  // them once its step is overdue.
  [[nodiscard]] bool is_awaited(const Hang& hang) const {
    const std::vector<int> members = members_of(hang.group);
    return std::ranges::any_of(members, [&](int rank) {
      const HangTable* table = find(rank);
      return table != nullptr && !table->is_overdue && table->state != ThreadState::kStopped &&
             table->state != ThreadState::kGone &&
             find_entry(*table, {hang.group, *hang.sequence}) == nullptr;
    });
  }

  // The script may have caught the error and gone on without what the others wait for.
  [[nodiscard]] bool lacked_memory(const Side& side) const {
    return std::ranges::any_of(side.ranks,
                               [&](int rank) { return !find(rank)->memory_error.empty(); });
  }

  [[nodiscard]] std::vector<int> of_state(const std::vector<int>& ranks, ThreadState state) const {
    std::vector<int> found;
    for (const int rank : ranks) {
      if (const HangTable* table = find(rank); table != nullptr && table->state == state) {
        found.push_back(rank);
      }
    }
    return found;
  }

  // The ranks `missing` did not enter. Those that wait in another group are victims themselves.
  std::optional<Hang> absence(Hang hang, std::vector<int> missing) {
    std::vector<int> free;
    for (const int rank : missing) {
      const HangTable* table = find(rank);
      if (table == nullptr || pending_of(*table).empty() || table->state == ThreadState::kStopped ||
          table->state == ThreadState::kGone) {
        free.push_back(rank);
      }
    }
    if (!free.empty()) missing = std::move(free);
    std::optional<HangKind> kind;
    for (const int rank : missing) {
      const HangTable* table = find(rank);
      if (table != nullptr && is_slow(*table)) {
        slow_ = std::move(hang);
        slow_->kind = HangKind::kSlow;
        slow_->ranks = {rank};
        slow_->phase = table->phase;
        describe_culprit(*slow_);
        return std::nullopt;
      }
      HangKind own = table == nullptr ? HangKind::kNotEntered : kind_of(*table);
      if (own == HangKind::kDied && was_late(*table, hang)) own = HangKind::kNotEntered;
      if (kind.value_or(own) == own) hang.ranks.push_back(rank);
      if (!kind) kind = own;
    }
    hang.kind = *kind;
    describe_culprit(hang);
    return hang;
  }

  // Whether a rank that is gone lived while others gave up waiting for it, as a launcher ends those
  // that are left.
  [[nodiscard]] bool was_late(const HangTable& table, const Hang& hang) const {
    if (!table.error.empty() || table.written_ns <= hang.since_ns) return false;
    return std::ranges::any_of(hang.waiting_ranks, [&](int rank) {
      const std::string& error = find(rank)->error;
      return error.find("imed out") != std::string::npos ||
             error.find("imeout") != std::string::npos;
    });
  }

  void describe_culprit(Hang& hang) const {
    const HangTable* table = find(hang.ranks.front());
    if (table == nullptr) return;
    hang.host = table->host;
    hang.stack = table->stack;
    hang.inner = table->inner;
    hang.error = table->memory_error.empty() ? table->error : table->memory_error;
  }

  static bool is_slow(const HangTable& table) {
    if (table.state == ThreadState::kStopped || table.state == ThreadState::kGone) return false;
    return !table.phase.empty() || table.is_moving;
  }

  static HangKind kind_of(const HangTable& table) {
    const auto is_in = [&](std::string_view what) {
      return table.inner.find(what) != std::string::npos;
    };
    if (table.state == ThreadState::kStopped) return HangKind::kStopped;
    if (!table.memory_error.empty()) return HangKind::kOutOfMemory;
    if (table.state == ThreadState::kGone) return HangKind::kDied;
    if (is_in("dataloader.py")) return HangKind::kData;
    if (table.state == ThreadState::kRuns) return HangKind::kComputes;
    if (table.state == ThreadState::kSleeps) return HangKind::kSleeps;
    if (table.state == ThreadState::kInputOutput) return HangKind::kInputOutput;
    if (table.state == ThreadState::kLock) return HangKind::kLock;
    return HangKind::kNotEntered;
  }

  // Whether a rank that nobody waits for may go on by itself.
  bool may_go_on(HangKind kind) const {
    if (kind == HangKind::kLock) return world_ > 1;  // of a collective, perhaps
    return kind == HangKind::kComputes || kind == HangKind::kSleeps ||
           kind == HangKind::kNotEntered;
  }

  // Nobody is known to wait in a collective, as in a job of one process.
  std::optional<Hang> judge_without_collectives() const {
    if (ranks_.empty() || std::ssize(ranks_) < world_) return std::nullopt;
    Hang hang;
    int64_t since_ns = 0;
    std::map<HangKind, std::vector<int>> by_kind;
    for (const HangTable& table : ranks_) {
      if (is_slow(table)) return std::nullopt;
      if (table.state == ThreadState::kGone && table.written_ns == 0) {
        return std::nullopt;  // it ended as it should, and the others may have more to do
      }
      by_kind[kind_of(table)].push_back(table.rank);
      since_ns = std::max(since_ns, table.step_began_ns);
      if (table.state != ThreadState::kStopped && table.state != ThreadState::kGone) {
        hang.waiting_ranks.push_back(table.rank);
      }
      hang.step = std::max(hang.step, table.step);
    }
    // For one that cannot go on the others wait, in whatever they are.
    if (!name_all_of(HangKind::kStopped, by_kind, hang) &&
        !name_all_of(HangKind::kDied, by_kind, hang)) {
      for (const auto& [kind, ranks] : by_kind) {
        if (may_go_on(kind)) return std::nullopt;
      }
      hang.waiting_ranks.clear();
      name_all_of(kind_of(ranks_.front()), by_kind, hang);
    }
    const bool cannot_wait = hang.kind == HangKind::kStopped || hang.kind == HangKind::kDied;
    if (cannot_wait && hang.waiting_ranks.empty()) return std::nullopt;  // as by a debugger
    hang.since_ns = since_ns;
    describe_culprit(hang);
    return hang;
  }

  static bool name_all_of(HangKind kind, std::map<HangKind, std::vector<int>>& by_kind,
                          Hang& hang) {
    const auto found = by_kind.find(kind);
    if (found == by_kind.end()) return false;
    hang.kind = kind;
    hang.ranks = found->second;
    return true;
  }

  std::span<const HangTable> ranks_;
  int world_ = 1;
  mutable std::map<std::pair<Place, std::string>, bool> over_;
  std::optional<Hang> slow_;
};

}  // namespace

std::optional<Hang> find_wait(std::span<const HangTable> ranks) { return Judge(ranks).judge(); }

std::optional<Hang> find_hang(std::span<const HangTable> ranks) {
  auto hang = find_wait(ranks);
  if (hang && hang->kind == HangKind::kSlow) hang.reset();
  return hang;
}

const char* hang_kind_name(HangKind kind) { return kKindNames[static_cast<size_t>(kind)]; }

HangKind hang_kind_of(std::string_view name) {
  const auto at = std::ranges::find(kKindNames, name);
  if (at == std::end(kKindNames)) return HangKind::kNotEntered;
  return static_cast<HangKind>(at - std::begin(kKindNames));
}

}  // namespace redline::trace
