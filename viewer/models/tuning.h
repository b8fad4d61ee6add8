// An autotune study as the Tuning page shows it: what won, how the search went, every trial.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "viewer/models/chart.h"
#include "viewer/models/table.h"

namespace redline::viewer {

/// How much a knob mattered.
struct KnobShare {
  std::string knob;
  double at_stake =
      0;  ///< 0..1: how much slower the knob's worst value is than its best, changed alone
  std::string values;  ///< "bf16 8,790 · off 4,020"
};

struct TrialDetails {
  int64_t id = 0;
  std::string text;
  std::vector<std::string> traces;  ///< files in its folder
};

struct Tuning {
  std::string path;
  std::string rate;     ///< "8,790 samples/s", or samples/J; empty: no trial succeeded
  std::string spread;   ///< "8,746 to 8,834, 95 %", and how many runs it is the mean of
  std::string verdict;  ///< "7.48 x the default", or why there is none
  std::string knobs;    ///< "batch_size 2560 · amp bf16"
  std::string notes;    ///< lines: "352 samples a step, not 64; the learning rate stays the same"
  std::string command;  ///< to run the winner
  std::string figures;  ///< "19 trials · 1 out of memory · 7 min 12 s"
  Chart batches;        ///< the searched figure over the batch size, one series for each stratum
  Chart convergence;
  std::vector<KnobShare> knob_shares;
  Table trials;  ///< a row's name is its trial's number
  std::vector<TrialDetails> details;
  int64_t best_trial = 0;     ///< the first trial of the winning configuration; 0: none
  int64_t default_trial = 0;  ///< the first of all trials; 0: none

  [[nodiscard]] const TrialDetails* find(int64_t trial) const;
};

/// Whether the file claims to be a study: an SQLite database, or an empty file named as one.
[[nodiscard]] bool is_study(const std::string& path);

/// The error is a sentence for the user. Changes nothing, and works while a search runs.
[[nodiscard]] tl::expected<Tuning, std::string> load_tuning(const std::string& path);

}  // namespace redline::viewer
