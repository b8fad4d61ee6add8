// Words for changes, the same in all forms of a diff.
#pragma once

#include <cstdint>
#include <string>

#include "trace/report/diff.h"
#include "trace/run/gate.h"

namespace redline::trace {

/// Steps with an unknown number of samples may hold different work.
constexpr const char* kUnknownSamples =
    "samples a step unknown: if the batch changed, steps do not compare";

/// Why the times of the sides do not compare if only one marks steps.
constexpr const char* kStepBesideTrace =
    "one side marks no steps: a step is compared with a whole trace";

/// A speed-up that is closer to 1 would print as "1.00 x".
constexpr double kLeastSpeedup = 0.005;

/// "1.05 x faster", "as fast as before"; `speedup` is above 1 if it became faster.
[[nodiscard]] std::string speed_words(double speedup);
/// "1,024", and "0.250" of ranks that share a sample.
[[nodiscard]] std::string sample_words(double samples);
/// How a comparison of traces is judged. Text and viewer use the same words.
struct DiffWords {
  /// "1.05 x faster"; "no clear difference" if steps of the same run differ as much; "no verdict"
  /// if the runs do not compare; empty if a side has no steps.
  std::string verdict;
  std::string interval;   ///< how far the change is certain, or why that is not known
  std::string basis;      ///< what the times are those of: "a step", "64 samples", "the trace"
  std::string other_gpu;  ///< "not the same GPU: …", or which side has no GPU work; else empty
  std::string unknown_samples;  ///< empty if both sides know what a step takes
};
[[nodiscard]] DiffWords words_of(const Diff& diff);
/// "a step", "the trace", or "a step and a trace", by whether each side marks its steps.
[[nodiscard]] std::string basis_words(bool before_has_steps, bool after_has_steps);

/// A count for the basis: "12", "0.5", "<0.1". What is above 0 is never written as "0".
[[nodiscard]] std::string mean_count_text(double count);
/// "12→14", or "12" if both are written so.
[[nodiscard]] std::string mean_counts_text(double before, double after);
/// "+3.1 ms", "-12.0 us"
[[nodiscard]] std::string signed_ns(int64_t ns);
[[nodiscard]] std::string signed_ns(double ns);
/// Of a ratio: 1.052 -> "+5.2 %"
[[nodiscard]] std::string change_words(double ratio);
/// Of a ratio: "between -1.2 % and +3.4 %"
[[nodiscard]] std::string range_words(const ValueInterval& ratio);
/// The key of an outcome in JSON: "surely_beyond".
[[nodiscard]] const char* gate_outcome_key(GateOutcome outcome);
/// "surely more than 5 % slower", "cannot tell yet whether it is more than 5 % slower: …"
/// `is_assumed`: nothing but an assumption says how much equal runs differ.
[[nodiscard]] std::string time_gate_words(const GateVerdict& gate, double limit, bool is_assumed);
[[nodiscard]] std::string memory_gate_words(const GateVerdict& gate, double limit, bool is_assumed);

}  // namespace redline::trace
