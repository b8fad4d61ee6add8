// The search space: the knobs that can matter for this command on this machine.
//
// A configuration names only the knobs it changes. One that is not named keeps what the script
// itself chose, so the empty configuration is the script's default, and two spellings of one
// configuration (batch size 64 unset, batch size 64 set) are made one by canonical().
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "tuner/space/config.h"
#include "tuner/space/knob.h"
#include "tuner/space/machine.h"

namespace redline::tuner {

/// The batch size taken for a script that does not tell its own.
constexpr int64_t kUsualBatch = 32;

struct Space {
  std::vector<Knob> knobs;
  std::vector<std::string> left_out;  ///< sentences: which knob or value, and why
  /// What the first trial sets: nothing, but for knobs that stand as {NAME} in the command, which
  /// has no default of its own for them.
  Config first;
  /// Under --global-batch: of one rank and step. Then `accumulation` follows from batch_size, whose
  /// values are the divisors.
  std::optional<int64_t> samples_a_step;

  std::vector<std::string> advised;  ///< names that a report's advice puts first

  [[nodiscard]] const Knob* find(const std::string& name) const;
  /// Drops what equals `defaults` (as the hook saw them in the first trial), and adds what follows
  /// from the rest.
  [[nodiscard]] Config canonical(const Config& config, const Config& defaults) const;
  /// {"knobs": {"batch_size": "1..4096"}, "first": {…}}: tells whether two studies are about the
  /// same.
  [[nodiscard]] std::string signature() const;
};

/// Makes the space from the knobs asked for, or where there are none a space that suits Python
/// training under the hook. An error is a whole sentence (a knob twice, a knob that nothing can
/// set, nothing left to search, a global batch that the ranks cannot share).
[[nodiscard]] tl::expected<Space, std::string> make_space(
    const std::vector<std::string>& knobs, const std::vector<std::string>& command,
    const Machine& machine, std::optional<int64_t> global_batch = std::nullopt);

/// The space that Space::signature() was made of.
[[nodiscard]] tl::expected<Space, std::string> parse_signature(const std::string& text);

/// Does {NAME} stand in the command, or in a variable of the environment?
[[nodiscard]] bool has_placeholder(const std::vector<std::string>& command,
                                   const std::string& name);

}  // namespace redline::tuner
