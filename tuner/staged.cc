// The staged search: it knows the shape of this space, so it needs few trials.
//
//   guess     what nearly always helps on such a machine, all at once
//   batch     along the memory line to the frontier, and back to the peak where it lies before
//   workers   until the loader no longer limits; then the batch again, while one of them moved:
//             a slow loader hides what a larger batch gains
//   screen    the other values of precision, layout and switches, one by one, at that batch: a
//             small one hides what they gain; then batch and workers again where one of them won
//   polish    neighbours of the winner, with what trials are left
#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "tuner/frontier.h"
#include "tuner/strategy.h"
#include "tuner/walk.h"

namespace redline::tuner {
namespace {

constexpr int64_t kUsualBatch = 32;
constexpr int kMostRounds = 3;
constexpr int kMostJumps = 4;
constexpr int kMostRefinements = 3;
constexpr double kWorthAnotherStep = 0.01;
constexpr double kFlatTop = 0.97;   ///< neighbours this near to the best: the peak is flat
constexpr double kTight = 0.97;     ///< of the memory limit
constexpr double kShortStep = 1.4;  ///< of the batch size, to polish
constexpr double kWideGap = 1.6;    ///< of neighbouring batch sizes, worth a look between
constexpr double kHarmless = 0.97;
constexpr double kClearlyWorse = 0.85;   ///< of the incumbent: not tried again
constexpr double kLoaderKeepsUp = 0.03;  ///< share of time waited for data
constexpr std::string_view kGuessedOn[] = {"cudnn_benchmark", "tf32", "pin_memory",
                                           "persistent_workers"};

/// Screened in this order: what a report advises, then what changes most.
int rank_of(const Knob& knob, const Space& space) {
  const auto advised = std::find(space.advised.begin(), space.advised.end(), knob.name);
  if (advised != space.advised.end()) return static_cast<int>(advised - space.advised.end());
  static constexpr std::array<std::string_view, 4> kOrder = {"amp", "channels_last", "compile",
                                                             "cudnn_benchmark"};
  return static_cast<int>(std::find(kOrder.begin(), kOrder.end(), knob.name) - kOrder.begin());
}

class StagedWalk {
 public:
  StagedWalk(const Space& space, const SearchSettings& settings, const History& history)
      : settings_(settings),
        walk_(space, history),
        batch_(space.find("batch_size")),
        workers_(space.find("num_workers")) {
    if (batch_ && !batch_->is_numeric()) batch_ = nullptr;
    if (workers_ && !workers_->is_numeric()) workers_ = nullptr;
    for (const Knob& knob : space.knobs) {
      if (&knob == batch_ || &knob == workers_) continue;
      (knob.is_numeric() ? numbers_ : switches_).push_back(&knob);
    }
    std::stable_sort(switches_.begin(), switches_.end(), [&](const Knob* a, const Knob* b) {
      return rank_of(*a, space) < rank_of(*b, space);
    });
  }

  std::optional<Proposal> next() {
    walk();
    return walk_.wanted();
  }

 private:
  // Each stage returns false where a trial is wanted first.

  bool walk() {
    if (!find_something_that_runs() || !guess() || !size()) return false;
    for (int round = 0; round < kMostRounds; ++round) {
      const Config before = walk_.best();
      if (!screen()) return false;
      if (walk_.best() == before) break;
      if (!size()) return false;
    }
    return polish();
  }

  /// One knob at a time, a short step either way, again around each new winner.
  bool polish() {
    for (int round = 0; round < kMostRounds; ++round) {
      const Config before = walk_.best();
      for (const Knob& knob : walk_.space().knobs) {
        if (!knob.is_numeric()) continue;
        const int64_t at = walk_.number(knob, &knob == batch_ ? kUsualBatch : knob.low);
        for (const int64_t value : {neighbour(knob, at, 1), neighbour(knob, at, -1)}) {
          if (value == at || (&knob == batch_ ? !may_fit(value) : value > at && is_tight())) {
            continue;
          }
          if (!walk_.attempt(knob.name, std::to_string(value), "polish")) return false;
        }
      }
      if (walk_.best() == before) return true;
    }
    return true;
  }

  static int64_t neighbour(const Knob& knob, int64_t value, int direction) {
    if (knob.is_range()) {
      const auto now = static_cast<double>(value);
      if (knob.name != "batch_size") return knob.nearest(now + direction);
      return knob.nearest(direction > 0 ? kShortStep * now : now / kShortStep);
    }
    int64_t nearest = value;
    for (const std::string& text : knob.values) {
      const int64_t other = parse_integer(text).value_or(value);
      const bool beyond = direction > 0 ? other > value : other < value;
      if (beyond && (nearest == value || std::abs(other - value) < std::abs(nearest - value))) {
        nearest = other;
      }
    }
    return nearest;
  }

  /// More workers or threads would not fit beside the winner's batch.
  bool is_tight() const {
    const auto runs = walk_.history().runs_of(walk_.best());
    const std::optional<uint64_t> limit = memory_limit();
    if (runs.empty() || !runs.front()->result.peak_memory_bytes || !limit) return false;
    return static_cast<double>(*runs.front()->result.peak_memory_bytes) >
           kTight * static_cast<double>(*limit);
  }

  bool may_fit(int64_t batch) const {
    const Frontier frontier = find_frontier(walk_.history(), walk_.best());
    if (frontier.smallest_failed && batch >= *frontier.smallest_failed) return false;
    const std::optional<uint64_t> limit = memory_limit();
    return !frontier.line || !limit ||
           static_cast<double>(batch) <= frontier.line->batch_within(*limit, 1);
  }

  /// The defaults may already need too much memory.
  bool find_something_that_runs() {
    while (!walk_.best_works() && batch_) {
      const Frontier frontier = find_frontier(walk_.history(), walk_.best());
      if (!frontier.smallest_failed) return true;
      const int64_t smaller = batch_->nearest(static_cast<double>(*frontier.smallest_failed) / 4);
      if (smaller >= *frontier.smallest_failed) return true;
      if (!walk_.attempt(batch_->name, std::to_string(smaller), "smaller batch")) return false;
    }
    return true;
  }

  bool guess() {
    const Config before = walk_.best();
    if (!try_guess(guessed_config(true), "good guess")) return false;
    // Some machines have no fast reduced precision: the rest of the guess may still be good.
    if (walk_.best() == before) return try_guess(guessed_config(false), "guess without amp");
    return true;
  }

  /// Small batches hide what the guess is good for, so it stays unless it clearly harms.
  bool try_guess(const Config& config, const std::string& why) {
    const std::optional<double> rate = walk_.measure(config, why);
    if (!rate) return false;
    if (*rate > kHarmless * walk_.best_rate()) walk_.adopt(config, *rate);
    return true;
  }

  Config guessed_config(bool with_amp) const {
    Config config = walk_.best();
    if (settings_.machine.gpu) {
      for (const Knob* knob : switches_) {
        const bool usually_helps = std::find(std::begin(kGuessedOn), std::end(kGuessedOn),
                                             knob->name) != std::end(kGuessedOn);
        if (usually_helps && knob->contains("on")) config[knob->name] = "on";
        if (knob->name == "amp" && with_amp && walk_.value(*knob).value_or("off") == "off") {
          if (knob->contains("bf16")) config["amp"] = "bf16";
        }
      }
    }
    if (workers_) {
      const int64_t usual = generous_workers();
      if (walk_.number(*workers_, 0) < usual) config[workers_->name] = std::to_string(usual);
    }
    return config;
  }

  /// Enough to feed a rank without taking cores from the others.
  int64_t generous_workers() const {
    const int ranks = std::max(1, walk_.history().trials().front().result.ranks);
    return workers_->nearest(std::max(1, settings_.machine.cores / ranks));
  }

  bool screen() {
    for (const Knob* knob : switches_) {
      for (const std::string& value : knob->values) {
        if (walk_.value(*knob) == value || is_hopeless(knob, value)) continue;
        const double before = walk_.best_rate();
        const Config config = walk_.with(knob->name, value);
        if (!walk_.attempt(config, knob->name)) return false;
        const double rate = walk_.measure(config, knob->name).value_or(0);
        if (rate == 0 && !screen_smaller(config, knob->name)) return false;
        if (rate > 0 && rate < kClearlyWorse * before) hopeless_.emplace_back(knob, value);
      }
    }
    return true;
  }

  /// A value that needs more memory may still win with half the batch.
  bool screen_smaller(Config config, const std::string& why) {
    const auto runs = walk_.history().runs_of(config);
    if (!batch_ || runs.empty() || !runs.front()->out_of_memory()) return true;
    const int64_t batch = walk_.number(*batch_, kUsualBatch);
    config[batch_->name] = std::to_string(batch_->nearest(static_cast<double>(batch) / 2));
    return walk_.attempt(config, why + ", half batch");
  }

  bool is_hopeless(const Knob* knob, const std::string& value) const {
    return std::any_of(hopeless_.begin(), hopeless_.end(), [&](const auto& entry) {
      return entry.first == knob && entry.second == value;
    });
  }

  bool size() {
    for (int round = 0; round < kMostRounds; ++round) {
      const Config before = walk_.best();
      if (!batch_size() || !workers()) return false;
      for (const Knob* knob : numbers_) {
        if (!climb_with_room(*knob, knob->low)) return false;
      }
      if (walk_.best() == before) return true;
    }
    return true;
  }

  bool batch_size() {
    if (!batch_) return true;
    for (const Point& point : points()) {
      if (!try_batch(point.batch, "batch")) return false;
    }
    return frontier_again() && jump_to_frontier() && refine_batch();
  }

  bool try_batch(int64_t size, const std::string& why) {
    return walk_.attempt(batch_->name, std::to_string(size), why);
  }

  /// What fits is known from other worker counts: one trial tells whether it pays now.
  bool frontier_again() {
    const Frontier frontier = find_frontier(walk_.history(), walk_.best());
    if (!frontier.largest_ok || *frontier.largest_ok <= walk_.number(*batch_, kUsualBatch)) {
      return true;
    }
    if (points().size() > 1) return true;
    return try_batch(*frontier.largest_ok, "re-opened batch");
  }

  bool jump_to_frontier() {
    for (int jump = 0; jump < kMostJumps; ++jump) {
      const Frontier frontier = find_frontier(walk_.history(), walk_.best());
      const std::vector<Point> measured = points();
      // Beyond the peak more batch only costs.
      if (!measured.empty() && measured.back().rate < kFlatTop * walk_.best_rate()) return true;
      const std::optional<int64_t> next =
          frontier.next(*batch_, memory_limit(), affordable_batch());
      if (!next) return true;
      if (!try_batch(*next, "batch at the limit")) return false;
    }
    return true;
  }

  /// By the incumbent's rate: a batch whose steps take longer leaves no time for other trials.
  double affordable_batch() const {
    if (settings_.longest_measurement.count() == 0 || !walk_.best_works()) return HUGE_VAL;
    const int ranks = std::max(1, walk_.history().trials().front().result.ranks);
    const double samples =
        walk_.best_rate() * std::chrono::duration<double>(settings_.longest_measurement).count();
    return samples / static_cast<double>(settings_.steps_a_trial * ranks);
  }

  struct Point {
    int64_t batch;
    double rate;
  };

  /// Batch sizes measured with the incumbent's other knobs, rising.
  std::vector<Point> points() const {
    std::vector<Point> result;
    for (const FinishedTrial& trial : walk_.history().trials()) {
      if (!trial.ok()) continue;
      Config all = walk_.history().effective(trial.config);
      Config best = walk_.history().effective(walk_.best());
      const auto size = parse_integer(all[batch_->name]);
      for (const char* name : {"batch_size", "accumulation"}) {
        if (name != batch_->name && !walk_.space().samples_a_step) continue;
        all.erase(name);
        best.erase(name);
      }
      if (size && all == best) result.push_back({*size, trial.result.throughput->samples_per_s});
    }
    std::sort(result.begin(), result.end(),
              [](const Point& a, const Point& b) { return a.batch < b.batch; });
    return result;
  }

  /// Between the best batch size and its neighbours, while the peak is steep and the gap is wide.
  bool refine_batch() {
    for (int round = 0; round < kMostRefinements; ++round) {
      const std::optional<int64_t> between = between_neighbours(points());
      if (!between) return true;
      if (!try_batch(*between, "between")) return false;
    }
    return true;
  }

  std::optional<int64_t> between_neighbours(const std::vector<Point>& measured) const {
    const auto best =
        std::max_element(measured.begin(), measured.end(),
                         [](const Point& a, const Point& b) { return a.rate < b.rate; });
    // At the upper end the frontier decides, not the gap below it.
    if (best == measured.end() || best + 1 == measured.end()) return std::nullopt;
    double widest = kWideGap;
    std::optional<int64_t> result;
    const auto consider = [&](const Point& neighbour) {
      const double gap =
          std::max(static_cast<double>(neighbour.batch) / static_cast<double>(best->batch),
                   static_cast<double>(best->batch) / static_cast<double>(neighbour.batch));
      if (gap <= widest || neighbour.rate > kFlatTop * best->rate) return;
      const int64_t middle = batch_->nearest(
          std::sqrt(static_cast<double>(neighbour.batch) * static_cast<double>(best->batch)));
      if (middle == best->batch || middle == neighbour.batch) return;
      widest = gap;
      result = middle;
    };
    consider(*(best + 1));
    if (best != measured.begin()) consider(*(best - 1));
    return result;
  }

  bool workers() {
    if (!workers_ || loader_keeps_up()) return true;
    return climb_with_room(*workers_, 0);
  }

  /// More workers or threads need more memory: at the frontier they may only want a smaller batch.
  bool climb_with_room(const Knob& knob, int64_t otherwise) {
    if (!climb(walk_, knob, otherwise, kWorthAnotherStep)) return false;
    const int64_t next = next_up(walk_, knob, otherwise);
    return next == walk_.number(knob, otherwise) ||
           screen_smaller(walk_.with(knob.name, std::to_string(next)), knob.name);
  }

  /// On a GPU machine idle workers cost nothing; on a CPU they take cores from the training.
  bool loader_keeps_up() const {
    const auto runs = walk_.history().runs_of(walk_.best());
    return settings_.machine.gpu && !runs.empty() && runs.front()->result.data_wait_share &&
           *runs.front()->result.data_wait_share < kLoaderKeepsUp;
  }

  std::optional<uint64_t> memory_limit() const {
    if (settings_.memory_limit_bytes) return settings_.memory_limit_bytes;
    return walk_.history().trials().front().result.memory_capacity_bytes;
  }

  const SearchSettings& settings_;
  Walk walk_;
  const Knob* batch_;
  const Knob* workers_;
  std::vector<const Knob*> switches_;
  std::vector<const Knob*> numbers_;
  std::vector<std::pair<const Knob*, std::string>> hopeless_;
};

class StagedSearch final : public Strategy {
 public:
  StagedSearch(const Space& space, const SearchSettings& settings)
      : space_(space), settings_(settings) {}

  std::optional<Proposal> ask(const History& history) const override {
    return StagedWalk(space_, settings_, history).next();
  }

  std::string description() const override {
    return "staged: a good guess, batch along the memory line to the limit, workers, batch again "
           "where they moved, then precision, layout and switches one by one";
  }

 private:
  const Space& space_;
  SearchSettings settings_;
};

}  // namespace

std::unique_ptr<Strategy> make_staged(const Space& space, const SearchSettings& settings) {
  return std::make_unique<StagedSearch>(space, settings);
}

}  // namespace redline::tuner
