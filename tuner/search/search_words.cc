#include "tuner/search/search_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "tuner/search/candidates.h"

namespace redline::tuner {
namespace {

/// Whether nothing of the space is left to try. False where it is large, or has a range.
bool is_space_used_up(Outlook& outlook) {
  constexpr size_t kMost = 512;
  std::vector<Config> all = {outlook.best()};
  for (const Knob& knob : outlook.space().knobs) {
    if (knob.is_range() || all.size() * knob.values.size() > kMost) return false;
    std::vector<Config> more;
    for (const Config& config : all) {
      for (const std::string& value : knob.values) {
        more.push_back(config);
        more.back()[knob.name] = value;
      }
    }
    all = std::move(more);
  }
  return std::ranges::none_of(all, [&](const Config& each) { return outlook.look(each).is_new; });
}

/// The knobs whose values differ from the best's.
std::vector<std::string> changed_knobs(const Outlook& outlook, const Config& effective) {
  std::vector<std::string> changed;
  for (const Knob& knob : outlook.space().knobs) {
    const auto own = effective.find(knob.name);
    const auto old = outlook.best().find(knob.name);
    if (own == effective.end()) continue;
    if (old == outlook.best().end() || old->second != own->second) changed.push_back(knob.name);
  }
  return changed;
}

std::string too_much_memory(const Outlook& outlook, const Config& all, double least_gain) {
  const std::string& batch = all.at("batch_size");
  const auto bytes = outlook.memory().expected_bytes(all);
  const auto limit = outlook.memory().limit_bytes();
  if (!bytes || !limit) {
    const bool others_did = outlook.history().out_of_memory_count() > 0;
    return "No other configuration is worth a trial: batch_size " + batch +
           " would probably run out of memory" +
           (others_did ? ", as others did." : ", although no trial tells how much it needs.");
  }
  return fmt::format(
      "No other configuration is worth a trial: batch_size {} would take about {} of {} of "
      "memory, and what fits is expected to gain less than {:.1f} %.",
      batch, format_bytes(static_cast<uint64_t>(*bytes)), format_bytes(*limit), 100 * least_gain);
}

}  // namespace

std::string changes_of(const Outlook& outlook, const Config& effective) {
  std::string changes;
  for (const std::string& knob : changed_knobs(outlook, effective)) {
    changes += (changes.empty() ? "" : ", ") + knob + " " + effective.at(knob);
  }
  return changes;
}

std::string bottleneck_tested(const Outlook& outlook, const Config& config) {
  const StepParts before = outlook.model().parts(outlook.model().place(outlook.best()));
  const Config all = outlook.history().effective(config);
  std::string hidden;
  bool workers = false;
  for (const std::string& knob : changed_knobs(outlook, all)) {
    if (knob == "num_workers") {
      workers = true;
    } else if (hidden.empty() || knob == "amp") {
      hidden = knob;
    }
  }
  const bool loader = before.loader < before.compute;
  const char* const what = !loader          ? "compute limits"
                           : !workers       ? "is it the loader"
                           : hidden.empty() ? "loader limits"
                                            : "loader hides ";
  return what + (loader && workers ? hidden : "") + ": " + changes_of(outlook, all);
}

std::string why_nothing_is_worth_a_trial(Outlook& outlook, double least_gain) {
  if (is_space_used_up(outlook)) return std::string(kSpaceIsUsedUp);
  for (const Knob& knob : outlook.space().knobs) {
    if (knob.name != "batch_size" || !knob.is_numeric()) continue;
    Config all = outlook.best();
    for (const std::string& value : candidate_values(knob)) {
      all[knob.name] = value;
      const Outlook::View& view = outlook.look(all);
      if (view.is_new && view.place.batch > outlook.runnable().affordable_batch() &&
          outlook.expected_gain(view.place) > least_gain) {
        return fmt::format(
            "No other configuration is worth a trial: the steps of batch_size {} would take longer "
            "than a trial may measure, and what is shorter is expected to gain less than {:.1f} %. "
            "Give a longer --budget and --trial-timeout.",
            value, 100 * least_gain);
      }
      if (!view.is_new || outlook.memory().chance(all) > 0.5) continue;
      return too_much_memory(outlook, all, least_gain);
    }
  }
  return fmt::format(
      "No other configuration is worth a trial: none is expected to gain {:.1f} % or more.",
      100 * least_gain);
}

}  // namespace redline::tuner
