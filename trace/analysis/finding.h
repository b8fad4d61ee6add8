// A finding: what slows a training down, with the figures and the places in the trace that show it
// (trace/advice/).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trace/model/ids.h"

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
  /// "{batch_size}" if the command must say where the knob's value goes, because the recorded job
  /// has no DataLoader that would take it; else empty.
  std::string placeholder;
  /// Index of the rank (in a report: of Report::traces) that `events` belong to.
  size_t trace = 0;

  template <typename Number>
  void tell(const char* figure, Number value) {
    evidence.emplace_back(figure, static_cast<double>(value));
  }
};

}  // namespace redline::trace
