#include "trace/analysis/ranks.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string_view>

namespace redline::trace {
namespace {

RankTime measure(const RankSummary& summary, int number, bool counts) {
  RankTime time;
  time.rank = number;
  time.step_count = summary.step_times.count;
  time.step_ns = summary.step_times.mean_ns;
  // What ranks lack of their GPUs' work differs.
  if (!counts || summary.partial_gpu || !summary.exposed_communication_ns) return time;
  time.exposed_communication_ns = summary.exposed_communication_ns;
  time.own_work_ns = time.step_ns - *time.exposed_communication_ns;
  return time;
}

struct Arrival {
  size_t rank;
  int64_t time_ns;
  int64_t end_ns;
  int64_t uncertainty_ns;
};

bool were_under_way_together(const std::vector<Arrival>& all) {
  int64_t last_begin_ns = INT64_MIN, first_end_ns = INT64_MAX, uncertainty_ns = 0;
  for (const Arrival& one : all) {
    last_begin_ns = std::max(last_begin_ns, one.time_ns);
    first_end_ns = std::min(first_end_ns, one.end_ns);
    uncertainty_ns = std::max(uncertainty_ns, one.uncertainty_ns);
  }
  return last_begin_ns <= first_end_ns + 2 * uncertainty_ns;
}

std::vector<Arrival> arrivals(const MatchedCollective& collective,
                              std::span<const std::optional<ClockOffset>> clocks) {
  std::vector<Arrival> all;
  for (const MatchedCollective::Call& call : collective.calls) {
    const auto& clock = clocks[call.rank];
    if (!clock) continue;
    all.push_back({call.rank, call.begin_ns + clock->at(call.begin_ns),
                   call.end_ns + clock->at(call.end_ns), clock->uncertainty_ns});
  }
  return all;
}

// Whether all that the rank computes takes longer, the optimizer too. Where only its data are
// longer than the other's, the optimizer takes as long.
bool is_slower_everywhere(const OwnWork& late, const OwnWork& other, double growth) {
  for (const WorkPart part : {WorkPart::kForward, WorkPart::kBackward, WorkPart::kOptimizer}) {
    const auto before = static_cast<double>(other[static_cast<size_t>(part)]);
    const auto more = static_cast<double>(late[static_cast<size_t>(part)]) - before;
    if (before <= 0 || more < growth / 2 * before) return false;
  }
  return true;
}

}  // namespace

std::optional<WorkPart> find_late_part(const OwnWork& late, const OwnWork& other) {
  size_t most = 0;
  int64_t known_ns = 0;
  for (size_t part = 0; part < late.size(); ++part) {
    if (late[part] - other[part] > late[most] - other[most]) most = part;
    if (static_cast<WorkPart>(part) != WorkPart::kHost) known_ns += late[part] + other[part];
  }
  if (known_ns == 0 || late[most] <= other[most]) return std::nullopt;
  const double growth = static_cast<double>(late[most] - other[most]) /
                        static_cast<double>(std::max<int64_t>(other[most], 1));
  return is_slower_everywhere(late, other, growth) ? WorkPart::kHost : static_cast<WorkPart>(most);
}

std::string straggler_mark(const RankComparison& comparison, size_t index) {
  if (comparison.straggler != index) return "";
  const auto part = comparison.late_in;
  if (!part) return "longest own work";
  return "longest own work (" + std::string(place_of(*part)) + ")";
}

int64_t RankWaits::awaited_ns(size_t rank) const {
  int64_t sum_ns = 0;
  for (const auto& waiter : ns) sum_ns += waiter[rank];
  return sum_ns;
}

std::optional<size_t> RankWaits::most_awaited() const {
  std::optional<size_t> most;
  for (size_t rank = 0; rank < ns.size(); ++rank) {
    if (awaited_ns(rank) > (most ? awaited_ns(*most) : 0)) most = rank;
  }
  return most;
}

std::optional<RankWaits> find_waits(const MatchedCollectives& matched,
                                    std::span<const std::optional<ClockOffset>> clocks) {
  RankWaits waits;
  waits.ns.assign(clocks.size(), std::vector<int64_t>(clocks.size(), 0));
  int64_t spread_ns = 0;
  for (const MatchedCollective& collective : matched.collectives) {
    const auto all = arrivals(collective, clocks);
    if (all.size() < 2) continue;
    if (!were_under_way_together(all)) {
      ++waits.mismatched;
      continue;
    }
    const auto [first, last] = std::ranges::minmax_element(all, {}, &Arrival::time_ns);
    for (const Arrival& one : all) waits.ns[one.rank][last->rank] += last->time_ns - one.time_ns;
    ++waits.collectives;
    spread_ns += last->time_ns - first->time_ns;
    waits.max_spread_ns = std::max(waits.max_spread_ns, last->time_ns - first->time_ns);
  }
  if (waits.collectives == 0) return std::nullopt;
  waits.mean_spread_ns = spread_ns / waits.collectives;
  return waits;
}

namespace {

// Kineto names no host, and processes of several containers may have one PID. Those that record at
// the same time are not one process.
bool may_be_of_one_process(const TraceFacts& left, const TraceFacts& right) {
  return !left.host.empty() || left.end_ns <= right.begin_ns || right.end_ns <= left.begin_ns;
}

}  // namespace

std::vector<int> rank_numbers(std::span<const RankSummary* const> traces) {
  std::set<int> taken;
  for (const RankSummary* trace : traces) {
    if (trace->facts.rank) taken.insert(*trace->facts.rank);
  }
  std::vector<int> numbers;
  std::map<std::string_view, std::vector<size_t>> processes;  // of traces without a rank
  int lowest = 0;
  for (const RankSummary* trace : traces) {
    const TraceFacts& facts = trace->facts;
    const std::string_view process = facts.rank ? std::string_view() : facts.recorded.process;
    std::vector<size_t>& windows = processes[process];
    const auto window = std::ranges::find_if(
        windows, [&](size_t other) { return may_be_of_one_process(facts, traces[other]->facts); });
    if (window != windows.end()) {
      numbers.push_back(numbers[*window]);
      continue;
    }
    while (!facts.rank && !taken.insert(lowest).second) ++lowest;
    if (!process.empty()) windows.push_back(numbers.size());
    numbers.push_back(facts.rank.value_or(lowest));
  }
  return numbers;
}

namespace {

// Also of times that no clock shows.
uint64_t distance_ns(int64_t left_ns, int64_t right_ns) {
  return static_cast<uint64_t>(std::max(left_ns, right_ns)) -
         static_cast<uint64_t>(std::min(left_ns, right_ns));
}

}  // namespace

std::vector<size_t> recordings_to_compare(std::span<const RankRecording> recordings) {
  std::vector<std::vector<size_t>> of_ranks;  // those that count; of a rank without such its first
  std::map<int64_t, size_t> places;
  for (size_t i = 0; i < recordings.size(); ++i) {
    const auto [place, is_new] = places.try_emplace(recordings[i].rank, of_ranks.size());
    if (is_new) of_ranks.emplace_back();
    std::vector<size_t>& own = of_ranks[place->second];
    if (!is_new && !recordings[i].counts) continue;
    if (!is_new && !recordings[own.front()].counts) own.clear();
    own.push_back(i);
  }
  const std::vector<size_t>* fewest = nullptr;
  bool are_equally_many = true;
  for (const std::vector<size_t>& own : of_ranks) {
    if (!recordings[own.front()].counts) continue;
    if (fewest && own.size() != fewest->size()) are_equally_many = false;
    if (!fewest || own.size() < fewest->size()) fewest = &own;
  }
  std::vector<size_t> chosen;
  for (const std::vector<size_t>& own : of_ranks) {
    const auto distance = [&](size_t i) {
      return distance_ns(recordings[i].begin_ns, recordings[fewest->back()].begin_ns);
    };
    chosen.push_back(are_equally_many ? own.back() : *std::ranges::min_element(own, {}, distance));
  }
  return chosen;
}

std::vector<bool> count_in_means(std::span<const RankSummary* const> traces) {
  std::vector<const RankSummary*> left(traces.begin(), traces.end());
  const auto keep = [&](auto is_good) {
    if (std::ranges::any_of(left, is_good)) std::erase_if(left, std::not_fn(is_good));
  };
  std::erase_if(left, [](const RankSummary* trace) { return trace->steps.empty(); });
  keep([](const RankSummary* trace) { return trace->has_marked_steps(); });
  // Parts of a step with and without the GPU's work have no mean.
  if (std::ranges::any_of(left, &RankSummary::has_device_work)) {
    keep([](const RankSummary* trace) { return !trace->unrecorded_gpu; });
    if (std::ranges::any_of(left, &RankSummary::has_whole_gpu_work)) {
      keep([](const RankSummary* trace) { return !trace->lacks_gpu_work(); });
    }
  }
  std::vector<bool> counts;
  auto next = left.begin();
  for (const RankSummary* trace : traces) {
    counts.push_back(next != left.end() && *next == trace);
    if (counts.back()) ++next;
  }
  return counts;
}

std::optional<RankComparison> compare_ranks(std::span<const RankSummary* const> ranks,
                                            std::span<const int> numbers) {
  if (ranks.size() < 2) return std::nullopt;
  RankComparison comparison;
  std::vector<const RankCollectives*> collectives;
  const std::vector<bool> counts = count_in_means(ranks);
  for (size_t i = 0; i < ranks.size(); ++i) {
    comparison.times.push_back(measure(*ranks[i], numbers[i], counts[i]));
    collectives.push_back(&ranks[i]->timed_collectives);
  }
  comparison.matched = match_collectives(collectives);
  comparison.clocks = align_clocks(collectives, comparison.matched);
  comparison.waits = find_waits(comparison.matched, comparison.clocks);
  comparison.gpu_sharing = find_gpu_sharing(ranks);
  std::vector<size_t> known;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (comparison.times[i].own_work_ns) known.push_back(i);
  }
  if (known.size() < 2) return comparison;
  const auto own_ns = [&](size_t i) { return *comparison.times[i].own_work_ns; };
  const auto [shortest, longest] = std::ranges::minmax(known, {}, own_ns);
  comparison.skew_ns = own_ns(longest) - own_ns(shortest);
  if (comparison.skew_ns > 0) {
    comparison.straggler = longest;
    comparison.late_in = find_late_part(ranks[longest]->own_work, ranks[shortest]->own_work);
  }
  return comparison;
}

}  // namespace redline::trace
