// The search space: the knobs that can matter for this command on this machine.
//
// A configuration names only the knobs that it changes; the others keep what the script chose. So
// the empty configuration is the script's default, and autotune need not know the script's values
// before it has run. The price is that one configuration can be written in two ways: if the
// script's batch size is 64, setting 64 and setting nothing are the same. canonical() makes them
// one as soon as a trial has shown the script's values.
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

/// The first batch size that is tried if {batch_size} in the command leaves the script no default.
constexpr int64_t kUsualBatch = 32;

struct Space {
  std::vector<Knob> knobs;
  std::vector<std::string> left_out;  ///< sentences: which knob or value, and why
  /// What the first trial sets: the knobs that stand as {NAME} in the command, because the command
  /// has no default for them, and what --global-batch needs. Empty if there are none.
  Config first;
  std::set<std::string> in_command;  ///< names that stand as {NAME} in it: they need no hook
  /// With --global-batch: how many samples each rank takes in a step. `accumulation` is then this
  /// number divided by batch_size, and the values of batch_size are its divisors.
  std::optional<int64_t> samples_a_step;

  std::vector<std::string> advised;  ///< names that a report's advice puts first

  // The rest is what the first trials show and the words of the command do not tell. Holders of a
  // reference to the space, such as strategies, see it at once.
  std::set<std::string> asked;  ///< names given with --knob; empty: the search uses the usual knobs
  std::set<std::string> dropped;        ///< names that leave_out() took out
  std::map<std::string, int64_t> most;  ///< by knob: values above this number are not applied
  /// Errors, as sentences: knobs of --knob or --global-batch that the job does not read.
  std::vector<std::string> unread;
  std::optional<int64_t> global_batch;  ///< of --global-batch
  /// How many the job has, as far as is known; those that read the same samples count as one.
  int ranks = 1;
  bool knows_ranks = false;  ///< a trial has succeeded with this number, so it stays
  bool has_told = false;     ///< a trial has said which knobs its job has no use for

  /// Takes out the knobs that a trial's job has no use for. `unused` has the reason for each name.
  void leave_out(const std::map<std::string, std::string>& unused);
  /// Learns that the job has `count` ranks. Returns true if the first trial was made for another
  /// number: then that trial tells nothing, and the next one counts as the first.
  bool learn_ranks(int count);
  /// Takes out the values of a knob above `highest`. Returns false if all of them are above it.
  bool limit(const std::string& name, int64_t highest, const std::string& why);
  /// Adds the arguments of DDP to the usual knobs, after a trial has shown that the job has several
  /// ranks.
  void add_ddp_knobs();

  [[nodiscard]] const Knob* find(const std::string& name) const;
  /// The one way to write `config`: without knobs that were left out, without what equals
  /// `defaults` (the script's own values, as the hook saw them), and with the accumulation that
  /// follows from the batch size.
  [[nodiscard]] Config canonical(const Config& config, const Config& defaults) const;
  /// {"knobs": {"batch_size": "1..4096"}, "first": {…}}: equal objects mean equal spaces. A study
  /// is only resumed with the space that it began with, so this must be called before any trial
  /// changes the space.
  [[nodiscard]] std::string signature() const;
  /// Keeps only the batch sizes with which `ranks` ranks make exactly `global_batch` samples a
  /// step, and chooses the first to try. Returns nullopt, or an error that is a whole sentence.
  [[nodiscard]] std::optional<std::string> fix_global_batch();

 private:
  /// limit() of the accumulation with --global-batch, by leaving out small batches, which need more
  /// of it.
  bool limit_accumulation(int64_t highest, const std::string& why);

  std::optional<Knob> every_batch_;  // batch_size before --global-batch chose among its values
};

/// The space of the knobs that the user asked for or, if there are none, of those that suit Python
/// training (HookKnob::usual). The error is a whole sentence: a knob is named twice or nothing can
/// set it, nothing is left to search, or the ranks cannot share the global batch.
[[nodiscard]] tl::expected<Space, std::string> make_space(
    const std::vector<std::string>& knobs, const std::vector<std::string>& command,
    const Machine& machine, std::optional<int64_t> global_batch = std::nullopt);

/// The variables of this process's environment that hold {NAME} of a knob, by name.
[[nodiscard]] Config variables_with_placeholders(const Space& space);

/// The space that Space::signature() was made of.
[[nodiscard]] tl::expected<Space, std::string> parse_signature(const std::string& text);

}  // namespace redline::tuner
