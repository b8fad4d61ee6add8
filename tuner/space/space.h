// The search space: the knobs that can matter for this command on this machine.
//
// A configuration names only the knobs that it changes; the others keep what the script chose. So
// the empty configuration is the script's default, and autotune need not know the script's values
// before it has run. The price: one configuration can be written in two ways (batch size 64 as the
// script's own, batch size 64 set). canonical() makes them one, as soon as a trial has shown the
// script's values.
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "tuner/space/config.h"
#include "tuner/space/knob.h"
#include "tuner/space/machine.h"

namespace redline::tuner {

/// The first batch size tried where {batch_size} in the command leaves the script without its own.
constexpr int64_t kUsualBatch = 32;

struct Space {
  std::vector<Knob> knobs;
  std::vector<std::string> left_out;  ///< sentences: which knob or value, and why
  /// What the first trial sets: the knobs that stand as {NAME} in the command, which has no default
  /// for them. Empty where there are none.
  Config first;
  /// With --global-batch: how many samples each rank takes in a step. Then `accumulation` is this
  /// over batch_size, and the values of batch_size are its divisors.
  std::optional<int64_t> samples_a_step;

  std::vector<std::string> advised;  ///< names that a report's advice puts first

  [[nodiscard]] const Knob* find(const std::string& name) const;
  /// The one way to write `config`: without what equals `defaults` (the script's own values, as the
  /// hook saw them), and with the accumulation that follows from the batch size.
  [[nodiscard]] Config canonical(const Config& config, const Config& defaults) const;
  /// {"knobs": {"batch_size": "1..4096"}, "first": {…}}: equal texts mean equal spaces. A study is
  /// only resumed with the space that it was begun with.
  [[nodiscard]] std::string signature() const;
};

/// The space of the knobs that the user asked for; without any, of those that suit Python training
/// (HookKnob::usual). The error is a whole sentence: a knob is named twice or nothing can set it,
/// nothing is left to search, or the ranks cannot share the global batch.
[[nodiscard]] tl::expected<Space, std::string> make_space(
    const std::vector<std::string>& knobs, const std::vector<std::string>& command,
    const Machine& machine, std::optional<int64_t> global_batch = std::nullopt);

/// The space that Space::signature() was made of.
[[nodiscard]] tl::expected<Space, std::string> parse_signature(const std::string& text);

/// Does {NAME} stand in the command, or in a variable of the environment?
[[nodiscard]] bool has_placeholder(const std::vector<std::string>& command,
                                   const std::string& name);

}  // namespace redline::tuner
