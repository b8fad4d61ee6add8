#include "tuner/search/candidates.h"

#include <algorithm>
#include <cmath>

namespace redline::tuner {
namespace {

constexpr double kLeastChance = 0.1;
constexpr int kRounds = 3;         ///< of an ascent; each goes over all knobs
constexpr double kGoOn = 0.001;    ///< the least gain of a round that is worth another one
constexpr int64_t kEachUpTo = 64;  ///< up to this value, every value of a range is a candidate
constexpr double kStepUp = 1.06;   ///< factor from one candidate of a wide range to the next
constexpr int64_t kEvenBatch = 8;
/// So many of the fits' favourites also bring all that differs from them in one knob.
constexpr size_t kNearest = 2;

}  // namespace

std::vector<std::string> candidate_values(const Knob& knob) {
  if (!knob.is_range()) return knob.values;
  std::vector<std::string> values;
  for (int64_t at = knob.low; at <= knob.high;) {
    values.push_back(std::to_string(at));
    int64_t next = at + 1;
    if (at >= knob.low + kEachUpTo || at >= kEachUpTo) {
      next = std::max<int64_t>(next, std::llround(static_cast<double>(at) * kStepUp));
      if (knob.name == "batch_size") next = (next + kEvenBatch - 1) / kEvenBatch * kEvenBatch;
      if (at < knob.high) next = std::min(next, knob.high);
    }
    at = next;
  }
  return values;
}

Candidates::Candidates(Outlook& outlook, double failure_costs)
    : outlook_(outlook), failure_costs_(failure_costs) {
  for (const Knob& knob : outlook.space().knobs) values_.push_back(candidate_values(knob));
}

double Candidates::worth(const Outlook::View& view, double gain) const {
  if (view.chance < kLeastChance) return -failure_costs_;
  const auto failures = static_cast<double>(outlook_.history().out_of_memory_count());
  return view.chance * gain - (1 - view.chance) * failure_costs_ * (1 + failures);
}

Config Candidates::favourite(size_t member) const {
  const StepModel& model = outlook_.model();
  const double own = std::log(model.parts(member, outlook_.look(outlook_.best()).place).rate);
  Config at = outlook_.best();
  double most = 0;
  for (int round = 0; round < kRounds; ++round) {
    const double before = most;
    for (size_t i = 0; i < values_.size(); ++i) {
      Config changed = at;
      for (const std::string& value : values_[i]) {
        changed[outlook_.space().knobs[i].name] = value;
        const Outlook::View& view = outlook_.look(changed);
        const double its = worth(view, std::log(model.parts(member, view.place).rate) - own);
        if (its <= most) continue;
        most = its;
        at = changed;
      }
    }
    if (most <= before + kGoOn) break;
  }
  return at;
}

std::set<Config> Candidates::collect() const {
  std::set<Config> favourites = {outlook_.best()};
  for (size_t member = 0; member < outlook_.model().members(); ++member) {
    favourites.insert(favourite(member));
  }
  std::set<Config> found;
  for (const Config& favourite : favourites) add(favourite, found);
  add_neighbours(outlook_.best(), found);
  std::vector<std::pair<double, Config>> ranked;
  for (const Config& favourite : favourites) {
    const Outlook::View& view = outlook_.look(favourite);
    ranked.emplace_back(-worth(view, outlook_.expected_gain(view.place)), favourite);
  }
  std::sort(ranked.begin(), ranked.end());
  for (size_t i = 0; i < std::min(kNearest, ranked.size()); ++i) {
    add_neighbours(ranked[i].second, found);
  }
  return found;
}

void Candidates::add(const Config& config, std::set<Config>& found) const {
  if (outlook_.look(config).is_new) found.insert(config);
}

void Candidates::add_neighbours(const Config& config, std::set<Config>& found) const {
  for (size_t i = 0; i < values_.size(); ++i) {
    Config changed = config;
    for (const std::string& value : values_[i]) {
      changed[outlook_.space().knobs[i].name] = value;
      add(changed, found);
    }
  }
}

}  // namespace redline::tuner
