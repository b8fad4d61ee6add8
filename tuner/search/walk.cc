#include "tuner/search/walk.h"

#include <cassert>
#include <cmath>
#include <functional>

namespace redline::tuner {

Walk::Walk(const Space& space, const History& history) : space_(space), history_(history) {
  assert(!history.empty());
  best_ = history.first_config();
  const auto runs = history.runs_of(best_);
  if (!runs.empty() && runs.front()->ok()) {
    best_rate_ = runs.front()->score().samples_per_s;
  }
}

std::optional<double> Walk::measure(const Config& config, const std::string& why) {
  const auto runs = history_.runs_of(config);
  if (runs.empty()) {
    wanted_ = Proposal{history_.canonical(config), why};
    return std::nullopt;
  }
  const FinishedTrial& run = *runs.front();
  return run.ok() ? run.score().samples_per_s : 0;
}

bool Walk::attempt(const Config& config, const std::string& why) {
  const std::optional<double> rate = measure(config, why);
  if (!rate) return false;
  if (*rate > best_rate_) {
    best_ = history_.canonical(config);
    best_rate_ = *rate;
  }
  return true;
}

bool Walk::attempt(const std::string& knob, const std::string& value, const std::string& why) {
  return attempt(with(knob, value), why);
}

std::optional<std::string> Walk::value(const Knob& knob) const {
  const Config all = history_.effective(best_);
  const auto found = all.find(knob.name);
  return found == all.end() ? std::nullopt : std::optional(found->second);
}

int64_t Walk::number(const Knob& knob, int64_t otherwise) const {
  const auto known = number_of(history_.effective(best_), knob.name);
  return known ? *known : knob.nearest(static_cast<double>(otherwise));
}

Config Walk::with(const std::string& knob, const std::string& value) const {
  Config config = best_;
  config[knob] = value;
  return config;
}

namespace {

/// The listed value next to `value` on one side; `value` itself if it is the last there.
template <typename Before>
int64_t neighbour(const Knob& knob, int64_t value, Before before) {
  int64_t found = value;
  for (const std::string& text : knob.values) {
    const auto number = parse_integer(text);
    if (!number || !before(value, *number)) continue;
    if (found == value || before(*number, found)) found = *number;
  }
  return found;
}

int64_t step_up(const Knob& knob, int64_t value) {
  const int64_t next =
      knob.nearest(value <= 0 ? static_cast<double>(value) + 1 : 2.0 * static_cast<double>(value));
  if (next > value || knob.is_range()) return next;
  return neighbour(knob, value, std::less<>{});  // the next value is more than three times as large
}

int64_t step_down(const Knob& knob, int64_t value) {
  const int64_t next = knob.nearest(value <= 1 ? static_cast<double>(value) - 1
                                               : std::floor(static_cast<double>(value) / 2));
  if (next < value || knob.is_range()) return next;
  return neighbour(knob, value, std::greater<>{});
}

/// Whether `value` of the knob clearly lost against the incumbent's value in two trials that differ
/// in this knob alone, whatever their other knobs were. If so, it need not be measured again.
bool lost_before(const Walk& walk, const Knob& knob, const std::string& value) {
  constexpr double kClearly = 0.97;
  const History& history = walk.history();
  const std::optional<std::string> winner = walk.value(knob);
  if (!winner) return false;
  for (const FinishedTrial& loser : history.trials()) {
    const Config config = history.effective(loser.config);
    const auto own = config.find(knob.name);
    if (!loser.ok() || own == config.end() || own->second != value) continue;
    Config other = config;
    other[knob.name] = *winner;
    const auto runs = history.runs_of(other);
    if (runs.empty() || !runs.front()->ok()) continue;
    const double best = runs.front()->score().samples_per_s;
    if (loser.score().samples_per_s < kClearly * best) return true;
  }
  return false;
}

/// Walks in one direction while each step gains. False: stop walking.
template <typename Step>
bool climb_one_way(Walk& walk, const Knob& knob, Step step) {
  for (;;) {
    const int64_t at = walk.number(knob, knob.low);
    const int64_t next = step(knob, at);
    if (next == at || lost_before(walk, knob, std::to_string(next))) return true;
    const double before = walk.best_rate();
    if (!walk.attempt(knob.name, std::to_string(next), knob.name)) return false;
    if (walk.best_rate() <= before) return true;
  }
}

}  // namespace

bool climb(Walk& walk, const Knob& knob) {
  const int64_t start = walk.number(knob, knob.low);
  if (!climb_one_way(walk, knob, step_up)) return false;
  if (walk.number(knob, knob.low) != start) return true;
  return climb_one_way(walk, knob, step_down);
}

}  // namespace redline::tuner
