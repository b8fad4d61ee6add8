// The search space: the knobs that can matter for this command on this machine.
//
// A configuration names only the knobs that it changes; the others keep what the script chose. So
// the empty configuration is the script's default, and autotune need not know the script's values
// before it has run. The price: one configuration can be written in two ways (batch size 64 as the
// script's own, batch size 64 set). canonical() makes them one, as soon as a trial has shown the
// script's values.
#pragma once

#include <map>
#include <optional>
#include <set>
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

  // What the command's words do not say and its first trials do. Who holds a reference to the
  // space, as strategies do, sees it at once.
  std::set<std::string> asked;    ///< names given with --knob; empty: the knobs are usual ones
  std::set<std::string> dropped;  ///< names that leave_out() took out
  std::map<std::string, int64_t> most;  ///< values above it are not applied; by knob
  std::vector<std::string> unread;      ///< of `asked` and `dropped`: sentences, each an error
  std::optional<int64_t> global_batch;  ///< of --global-batch
  int ranks = 1;                        ///< as far as is known
  bool has_told = false;                ///< some trial has said what its job has nothing for

  /// Takes out knobs that a trial's job has nothing for: why, by name.
  void leave_out(const std::map<std::string, std::string>& unused);
  /// So many ranks ran. True where `first` followed from another number: then the trial tells
  /// nothing, and the next one is the first.
  bool learn_ranks(int count);
  /// Takes out the values of a knob above `highest`. False where all of them are above it.
  bool limit(const std::string& name, int64_t highest, const std::string& why);
  /// The arguments of DDP join the usual knobs: some trial shows that there are ranks.
  void add_ddp_knobs();

  [[nodiscard]] const Knob* find(const std::string& name) const;
  /// The one way to write `config`: without knobs that were left out, without what equals
  /// `defaults` (the script's own values, as the hook saw them), and with the accumulation that
  /// follows from the batch size.
  [[nodiscard]] Config canonical(const Config& config, const Config& defaults) const;
  /// {"knobs": {"batch_size": "1..4096"}, "first": {…}}: equal texts mean equal spaces. A study is
  /// only resumed with the space that it was begun with, so it is asked before any trial.
  [[nodiscard]] std::string signature() const;
  /// Takes the batch sizes that make `global_batch` samples a step of `ranks` exactly, and the
  /// first of them to try. The error is a whole sentence.
  [[nodiscard]] std::optional<std::string> fix_global_batch();

 private:
  /// With --global-batch: smaller batches would need more of it.
  bool limit_accumulation(int64_t highest, const std::string& why);

  std::optional<Knob> every_batch_;  // before --global-batch chose among its values
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
