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
/// Where the rate grows with the batch, the last steps to the memory's limit count: up to so much
/// above the best, batch sizes are this far apart.
constexpr double kLastSteps = 1.12;
constexpr double kLastStep = 0.015;
/// By so much a trial that ran out of memory makes the next one dearer.
constexpr double kDearer = 0.5;
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
      const auto value = static_cast<double>(at);
      next = std::max<int64_t>(next, std::llround(at < 0 ? value / kStepUp : value * kStepUp));
      if (knob.name == "batch_size") next = (next + kEvenBatch - 1) / kEvenBatch * kEvenBatch;
      if (at < knob.high) next = std::min(next, knob.high);
    }
    at = next;
  }
  return values;
}

namespace {

/// `values` of a wide range of batch sizes, and those a few per cent above `best`.
std::vector<std::string> with_last_steps(const Knob& knob, const std::vector<std::string>& values,
                                         double best) {
  std::set<int64_t> all;
  for (const std::string& value : values) all.insert(*parse_integer(value));
  const auto add = [&](double batch) {
    const int64_t number = std::llround(batch);
    // The script's own batch size, if it is the best, may lie outside of the range.
    if (knob.low <= number && number <= knob.high) all.insert(number);
  };
  const double step = std::max(1.0, kLastStep * best);
  for (double at = best; at < kLastSteps * best; at += step) add(at);
  const auto even = static_cast<double>(kEvenBatch);
  for (double at = even * std::ceil(best / even); at < kLastSteps * best + even; at += even)
    add(at);
  std::vector<std::string> texts;
  for (const int64_t value : all) texts.push_back(std::to_string(value));
  return texts;
}

}  // namespace

Candidates::Candidates(Outlook& outlook) : outlook_(outlook), rows_(outlook.space().knobs.size()) {
  for (const Knob& knob : outlook.space().knobs) {
    std::vector<std::string> values = candidate_values(knob);
    if (knob.name == "batch_size" && knob.is_range()) {
      values = with_last_steps(knob, values, outlook.look(outlook.best()).place.batch);
    }
    values_.push_back(std::move(values));
  }
}

double Candidates::worth(const Outlook::View& view, double gain, double failure_costs) const {
  if (view.chance < kLeastChance) return -failure_costs;
  const auto failures = static_cast<double>(outlook_.history().failed_risks());
  return view.chance * gain - (1 - view.chance) * failure_costs * (1 + kDearer * failures);
}

const Candidates::Row& Candidates::row(const Config& config, size_t knob) {
  const std::string& name = outlook_.space().knobs[knob].name;
  Config changed = config;
  changed.erase(name);
  const auto [entry, is_new] = rows_[knob].try_emplace(changed);
  if (!is_new) return entry->second;
  for (const std::string& value : values_[knob]) {
    changed[name] = value;
    entry->second.push_back(&outlook_.look(changed));
  }
  return entry->second;
}

Config Candidates::favourite(size_t member, double failure_costs) {
  const StepModel& model = outlook_.model();
  const double own = std::log(model.parts(member, outlook_.look(outlook_.best()).place).rate);
  Config at = outlook_.best();
  double most = 0;
  for (int round = 0; round < kRounds; ++round) {
    const double before = most;
    for (size_t i = 0; i < values_.size(); ++i) {
      const Row& views = row(at, i);
      for (size_t k = 0; k < views.size(); ++k) {
        const double gain = std::log(model.parts(member, views[k]->place).rate) - own;
        const double its = worth(*views[k], gain, failure_costs);
        if (its <= most) continue;
        most = its;
        at[outlook_.space().knobs[i].name] = values_[i][k];
      }
    }
    if (most <= before + kGoOn) break;
  }
  return at;
}

std::set<Config> Candidates::collect(double failure_costs) {
  std::set<Config> favourites = {outlook_.best()};
  for (size_t member = 0; member < outlook_.model().members(); ++member) {
    favourites.insert(favourite(member, failure_costs));
  }
  std::set<Config> found;
  for (const Config& favourite : favourites) add(favourite, found);
  add_neighbours(outlook_.best(), found);
  std::vector<std::pair<double, Config>> ranked;
  for (const Config& favourite : favourites) {
    const Outlook::View& view = outlook_.look(favourite);
    ranked.emplace_back(-worth(view, outlook_.expected_gain(view.place), failure_costs), favourite);
  }
  std::ranges::sort(ranked);
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
