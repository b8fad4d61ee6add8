// The knobs that the start-up hook sets in a Python script which knows nothing of them: the one
// table of what the tuner knows about each.
//
// A new knob is a row of hook_knobs.cc and its application in python/redline/_*_knobs.py. The help,
// the heads of tables, the space of a user who names no knob, the strata of the memory frontier and
// the checks of --knob and best.json all read this table. The hook keeps a table of its own, of the
// functions that apply: it runs in jobs that have no autotune. test_knob_tables.py compares the
// two.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace redline::tuner {

struct HookKnob {
  std::string_view name;
  std::string_view title;  ///< heads its column of a table, 8 characters at most
  /// The only values it takes; empty: whole numbers of at least `least`.
  std::vector<std::string> values = {};
  int64_t least = 0;
  std::string_view example;  ///< values that make sense, for messages: "8..512"
  /// The values searched where the user names no knob; empty: then it is not searched, because it
  /// changes what the model computes or seldom helps. {cores}: of this machine, 16 at most.
  std::string_view usual = {};
  bool needs_gpu = false;      ///< does nothing on a CPU
  bool needs_ranks = false;    ///< an argument of DDP: does nothing in a job of one rank
  bool moves_memory = true;    ///< a rank's peak memory; false: by little
  bool usually_helps = false;  ///< a switch that a first guess turns on
};

/// In the order in which help and usual spaces name them.
[[nodiscard]] const std::vector<HookKnob>& hook_knobs();
/// Null for a name that only a placeholder in the command can set.
[[nodiscard]] const HookKnob* find_hook_knob(std::string_view name);

/// "batch_size, num_workers, …"; of DDP's arguments with `of_ddp`, else of all others.
[[nodiscard]] std::string hook_knob_names(bool of_ddp);

/// Whether the start-up hook can set `name` to `value`; the error says why not.
[[nodiscard]] tl::expected<void, std::string> check_hook_knob(const std::string& name,
                                                              const std::string& value);

}  // namespace redline::tuner
