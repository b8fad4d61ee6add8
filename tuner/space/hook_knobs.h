// The knobs that the start-up hook can set in a Python script which knows nothing of them. This is
// the one table of what the tuner knows about each.
//
// A new knob is a row of hook_knobs.cc and code in python/redline/_*_knobs.py that applies it. The
// help, the heads of tables, the space of a user who names no knob, the strata of the memory
// frontier and the checks of --knob and best.json all read this table. The hook has its own table
// of the functions that apply knobs, because it runs in jobs that have no autotune.
// test_knob_tables.py compares the two.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace redline::tuner {

struct HookKnob {
  std::string_view name;
  std::string_view title;  ///< the head of its column in a table, 8 characters at most
  /// The only values that it takes; empty: whole numbers of at least `least`.
  std::vector<std::string> values = {};
  int64_t least = 0;
  /// Values that make sense, for messages: "8..512"; if a row has none, all its values.
  std::string example = {};
  /// The values that are searched if the user names no knob. Empty: it is not searched then,
  /// because it changes what the model computes or seldom helps. {cores} stands for the cores of
  /// this machine, at most 16.
  std::string_view usual = {};
  bool needs_gpu = false;      ///< does nothing on a CPU
  bool needs_cpu = false;      ///< does hardly anything where a GPU trains
  bool needs_ranks = false;    ///< an argument of DDP, which does nothing in a job of one rank
  bool needs_workers = false;  ///< does nothing where the DataLoader has no worker processes
  bool moves_memory = true;    ///< it changes a rank's peak memory by more than a little
};

/// In the order in which help and usual spaces name them.
[[nodiscard]] const std::vector<HookKnob>& hook_knobs();
/// Null for any other name; only a placeholder in the command can set such a knob.
[[nodiscard]] const HookKnob* find_hook_knob(std::string_view name);

/// Those that change what a step takes.
inline constexpr std::array kKnobsOfStepSize = {"batch_size", "accumulation"};

/// "batch_size, num_workers, …": DDP's arguments with `of_ddp`, all other knobs without.
[[nodiscard]] std::string hook_knob_names(bool of_ddp);

/// Whether the start-up hook can set `name` to `value`; the error says why not.
[[nodiscard]] tl::expected<void, std::string> check_hook_knob(const std::string& name,
                                                              const std::string& value);

}  // namespace redline::tuner
