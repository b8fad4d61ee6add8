// Before and after: what became faster or slower.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trace/breakdown.h"
#include "trace/model.h"
#include "trace/report.h"

namespace redline::trace {

/// One of the two runs; times are means over its steps and ranks.
struct DiffSide {
  std::vector<std::string> paths;
  int64_t rank_count = 0;
  int64_t step_count = 0;  ///< of the first rank
  int64_t step_ns = 0;
  std::optional<double> samples_per_step;  ///< over all ranks
  std::optional<double> samples_per_second;
};

/// An operator's own host time or a kernel's time, for the diff's basis. `count` is calls.
struct DiffRow {
  std::string name;
  double before_count = 0;
  double after_count = 0;
  int64_t before_ns = 0;
  int64_t after_ns = 0;

  [[nodiscard]] int64_t delta_ns() const { return after_ns - before_ns; }
};

struct Diff {
  DiffSide before;
  DiffSide after;
  /// What the rows below compare: the work for this many samples, where both runs know how many a
  /// step takes and the numbers differ; else (none) one step of each.
  std::optional<double> basis_samples;
  std::vector<DiffRow> breakdown;  ///< in the order of StepPart
  std::vector<DiffRow> operators;  ///< largest change first, either way
  std::vector<DiffRow> kernels;

  /// Above 1: the second run is faster. By samples per second where known, else by step time.
  [[nodiscard]] std::optional<double> speedup() const;
};

using Traces = std::vector<std::shared_ptr<const Trace>>;

/// Both runs have at least one trace.
[[nodiscard]] Diff compare_runs(const Traces& before, const Traces& after);

[[nodiscard]] std::string diff_text(const Diff& diff, const TextStyle& style);

/// Schema "redline.diff/1".
[[nodiscard]] std::string diff_json(const Diff& diff);

}  // namespace redline::trace
