// What came of a trial, from how the watching of it ended and what was measured.
#pragma once

#include <chrono>
#include <optional>

#include "tuner/trial/outcome.h"
#include "tuner/trial/rank_reports.h"
#include "tuner/trial/trial.h"

namespace redline::tuner {

/// Why the watching ended.
enum class TrialEnd : uint8_t {
  kExited,
  kMeasured,
  kBehind,
  kFailureReported,
  kTimeout,
  kHang,
  kCancelled,
};

struct TrialFacts {
  const TrialSpec& spec;
  TrialEnd end;
  const Measurement& measurement;
  std::optional<Throughput> throughput;
  Evidence evidence;
  std::chrono::nanoseconds silence;  ///< since the last step
};

[[nodiscard]] Verdict verdict_on(const TrialFacts& facts);

}  // namespace redline::tuner
