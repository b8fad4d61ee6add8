#include "tuner/search/less_memory.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/space/hook_knobs.h"

namespace redline::tuner {
namespace {

/// Besides those of smaller batches, which are few because each has a quarter of the last.
constexpr size_t kMostTrials = 8;

struct Saver {
  std::string_view knob;
  /// The first of them that the space has takes least memory; if a row has none, the lowest number.
  std::array<std::string_view, 2> values = {};
};
constexpr Saver kOfLoader[] = {{"num_workers"}, {"prefetch_factor"}};
/// Those that save most come first.
constexpr Saver kOfRank[] = {
    {"checkpointing", {"on"}},      {"amp", {"bf16", "fp16"}}, {"gradient_as_bucket_view", {"on"}},
    {"optimizer", {"fused"}},       {"zero_grad", {"none"}},   {"bucket_cap_mb"},
    {"compile", {"on", "default"}},
};

std::optional<std::string> saving_value(const Saver& saver, const Knob& knob) {
  if (saver.values.front().empty()) {
    return knob.is_numeric() ? std::optional(std::to_string(knob.low)) : std::nullopt;
  }
  for (const std::string_view value : saver.values) {
    if (knob.contains(std::string(value))) return std::string(value);
  }
  return std::nullopt;
}

class LessMemory {
 public:
  explicit LessMemory(Walk& walk)
      : walk_(walk), space_(walk.history().space()), base_(walk.best()) {}

  void search() {
    const Outcome first = walk_.history().trials().front().result.outcome;
    if (first == Outcome::kShmFull && !all_fail(kOfLoader)) return;
    if (!smaller_batches_fail()) return;
    if (first == Outcome::kHostOom && !all_fail(kOfLoader)) return;
    if (all_fail(kOfRank)) try_unclear_knobs();
  }

 private:
  /// True: its trial has ended, and it did not run.
  bool fails(const Config& config, const std::string& why) {
    return walk_.attempt(config, why) && walk_.best_rate() == 0;
  }

  /// The same for values that save memory by other means than the batch size. False, too, where
  /// enough of them were tried.
  bool other_fails(const Config& config) {
    const Config wanted = walk_.history().canonical(config);
    if (wanted == base_) return true;
    tried_.insert(wanted);
    return tried_.size() <= kMostTrials && fails(wanted, "less memory");
  }

  /// What failed for another reason than memory, as a batch of 1 does in BatchNorm, must not make
  /// all that follows fail.
  void keep_if_out_of_memory(const Knob& knob, const Config& config) {
    if (!walk_.history().runs_of(config).front()->out_of_memory()) return;
    base_ = walk_.history().canonical(config);
    kept_.insert(knob.name);
  }

  [[nodiscard]] Config with(const Knob& knob, const std::string& value) const {
    Config config = base_;
    config[knob.name] = value;
    return config;
  }

  bool smaller_batches_fail() {
    const Knob* batch = space_.find("batch_size");
    if (!batch || !batch->is_numeric()) return true;
    int64_t smaller = walk_.number(*batch, kUsualBatch);
    for (;;) {
      const int64_t next = batch->nearest(static_cast<double>(smaller) / 4);
      if (next >= smaller) return true;
      smaller = next;
      const Config config = with(*batch, std::to_string(smaller));
      if (!fails(config, "smaller batch")) return false;
      keep_if_out_of_memory(*batch, config);
    }
  }

  bool all_fail(std::span<const Saver> savers) {
    for (const Saver& saver : savers) {
      const Knob* knob = space_.find(std::string(saver.knob));
      const auto value = knob ? saving_value(saver, *knob) : std::nullopt;
      if (!value) continue;
      const Config config = with(*knob, *value);
      if (!other_fails(config)) return false;
      keep_if_out_of_memory(*knob, config);
    }
    return true;
  }

  /// Whether the user asked for the knob, and nobody knows which of its values takes least memory.
  [[nodiscard]] bool is_unclear(const Knob& knob) const {
    const std::string& name = knob.name;
    if (!space_.asked.contains(name) || kept_.contains(name) || name == "batch_size") return false;
    const HookKnob* hook = find_hook_knob(name);
    // A script may cut its batches into more parts; the hook takes more batches.
    const bool is_cut = name == "accumulation" && space_.in_command.contains(name);
    return !hook || hook->moves_memory || is_cut;
  }

  /// Of numbers the lowest, of choices the first that the script has not chosen.
  [[nodiscard]] std::string likely_value(const Knob& knob) const {
    if (knob.is_numeric()) {
      return std::to_string(knob.name == "accumulation" ? knob.high : knob.low);
    }
    const std::string own = own_value(knob);
    const auto other = std::ranges::find_if(knob.values, [&](const auto& v) { return v != own; });
    return other == knob.values.end() ? own : *other;
  }
  /// A switch whose value is not known yet is most probably off, which is its first value.
  [[nodiscard]] std::string own_value(const Knob& knob) const {
    const auto own = walk_.value(knob);
    return own || knob.is_range() ? own.value_or("") : knob.values.front();
  }

  /// First the likely value of each knob, then those of all knobs at once, then what is left.
  void try_unclear_knobs() {
    Config together = base_;
    for (const Knob& knob : space_.knobs) {
      if (!is_unclear(knob)) continue;
      together[knob.name] = likely_value(knob);
      if (!other_fails(with(knob, together.at(knob.name)))) return;
    }
    if (!other_fails(together)) return;
    for (const Knob& knob : space_.knobs) {
      if (!is_unclear(knob)) continue;
      const std::vector<std::string> ends = {std::to_string(knob.low), std::to_string(knob.high)};
      for (const std::string& value : knob.is_numeric() ? ends : knob.values) {
        if (value != own_value(knob) && !other_fails(with(knob, value))) return;
      }
    }
  }

  Walk& walk_;
  const Space& space_;
  Config base_;                 ///< takes least memory of all that ran out of it; canonical
  std::set<std::string> kept_;  ///< the knobs that have their saving value there
  std::set<Config> tried_;
};

}  // namespace

bool find_what_runs(Walk& walk) {
  if (walk.best_rate() == 0) LessMemory(walk).search();
  return !walk.wanted();
}

}  // namespace redline::tuner
