// Advice: what slows the training down, and which knob may help.
//
// A finding is reported only where the trace shows its condition, with the figures and the slices
// that it follows from. Each estimate is an upper bound: the speed-up if all of that time went
// away. Only exposed time counts (no useful work ran at the same time), and each instant only once.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trace/analysis/analysis.h"
#include "trace/analysis/ranks.h"

namespace redline::trace {

enum class Severity : uint8_t { kLow, kMedium, kHigh };

/// A place in the trace that shows a finding.
struct EvidenceEvent {
  SliceId slice;  ///< none() for an instant, which is no slice
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  std::string name;
};

struct Finding {
  std::string rule;                    ///< stable name, e.g. "dataloader_wait"
  Severity severity = Severity::kLow;  ///< follows from estimated_speedup; medium if there is none
  std::string headline;                ///< one line of at most 50 columns, figures included
  std::string detail;                  ///< why, and what to do: a sentence or two
  std::vector<std::pair<std::string, double>> evidence;  ///< *_ns, *_share, counts
  std::vector<EvidenceEvent> events;                     ///< where to look, the most telling first
  std::optional<double> estimated_speedup;  ///< an upper bound; nullopt if it cannot be known
  std::string knob;  ///< argument for autotune --knob, e.g. "amp=off,bf16"; empty if no knob helps
  /// Index of the analysis (in a report: of Report::traces) that `events` belong to.
  size_t trace = 0;
};

[[nodiscard]] const char* severity_name(Severity severity);

/// Findings of one rank, the largest possible gain first.
[[nodiscard]] std::vector<Finding> advise(const Analysis& analysis);

/// Findings of all ranks together: those of the rank that the others wait for, and those that only
/// the comparison shows.
[[nodiscard]] std::vector<Finding> advise(std::span<const Analysis* const> ranks,
                                          const std::optional<RankComparison>& comparison);

}  // namespace redline::trace
