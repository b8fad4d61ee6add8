#include "trace/report/diff_words.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/format.h"

namespace redline::trace {

std::string speed_words(double speedup) {
  if (std::abs(speedup - 1) < kLeastSpeedup) return "as fast as before";
  return speedup > 1 ? fmt::format("{:.2f} x faster", speedup)
                     : fmt::format("{:.2f} x slower", 1 / speedup);
}

std::string sample_words(double samples) {
  return samples == std::round(samples) ? format_count(std::llround(samples))
                                        : format_number(samples);
}

std::string basis_words(bool before_has_steps, bool after_has_steps) {
  if (before_has_steps == after_has_steps) return before_has_steps ? "a step" : "the trace";
  return before_has_steps ? "a step and a trace" : "a trace and a step";
}

namespace {

std::string diff_verdict(const Diff& diff) {
  if (!diff.is_comparable()) return "no verdict";
  if (diff.step && !diff.step->is_clear()) return "no clear difference";
  const auto speedup = diff.speedup();
  return speedup ? speed_words(*speedup) : "";
}

std::string diff_interval(const Diff& diff) {
  if (diff.is_step_beside_trace()) return kStepBesideTrace;
  if (diff.do_steps_disagree()) {
    return fmt::format("ranks have different numbers of steps: all {}, the last {}",
                       signed_ns(diff.step_delta_ns()), signed_ns(diff.step->difference));
  }
  if (!diff.has_marked_steps()) {
    return "no marked steps on a side: nobody knows how much runs differ by themselves";
  }
  if (!diff.step) return "one step on a side: nobody knows how much steps differ by themselves";
  return fmt::format("change {}, with 95 % certainty between {} and {}",
                     signed_ns(diff.step->difference), signed_ns(diff.step->low),
                     signed_ns(diff.step->high));
}

std::string diff_basis(const Diff& diff) {
  if (!diff.basis_samples) {
    return basis_words(diff.before.has_marked_steps, diff.after.has_marked_steps);
  }
  return *diff.basis_samples == 1 ? "a sample" : sample_words(*diff.basis_samples) + " samples";
}

std::string diff_other_gpu(const Diff& diff) {
  const DiffSide &before = diff.before, &after = diff.after;
  if (before.has_gpu_work != after.has_gpu_work) {
    return fmt::format("no GPU work was recorded in the run {}: GPU rows do not compare",
                       before.has_gpu_work ? "after" : "before");
  }
  if (before.gpu == after.gpu || before.gpu.empty() || after.gpu.empty()) return "";
  return fmt::format("not the same GPU: {}, then {}", before.gpu, after.gpu);
}

}  // namespace

DiffWords words_of(const Diff& diff) {
  const bool is_known = diff.before.samples_per_step && diff.after.samples_per_step;
  return {diff_verdict(diff), diff_interval(diff), diff_basis(diff), diff_other_gpu(diff),
          is_known ? "" : kUnknownSamples};
}

std::string mean_count_text(double count) {
  if (count > 0 && count < 0.05) return "<0.1";
  return std::abs(count - std::round(count)) < 0.05 ? format_count(std::llround(count))
                                                    : fmt::format("{:.1f}", count);
}

std::string mean_counts_text(double before, double after) {
  const std::string was = mean_count_text(before), is = mean_count_text(after);
  return was == is ? was : was + "→" + is;
}

std::string signed_ns(int64_t ns) { return (ns > 0 ? "+" : "") + format_ns(ns); }

std::string signed_ns(double ns) { return signed_ns(int64_t{std::llround(ns)}); }

std::string change_words(double ratio) { return fmt::format("{:+.1f} %", 100 * (ratio - 1)); }

std::string range_words(const ValueInterval& ratio) {
  return fmt::format("between {} and {}", change_words(ratio.low), change_words(ratio.high));
}

const char* gate_outcome_key(GateOutcome outcome) {
  constexpr std::array kKeys = {"no_worse", "surely_beyond", "cannot_tell"};
  return kKeys[static_cast<size_t>(outcome)];
}

namespace {

// About 6 more runs a side would tell, or there are too many.
std::string more_runs_words(const GateVerdict& gate) {
  return gate.more_runs
             ? fmt::format("about {} a side would tell", format_plural(*gate.more_runs, "more run"))
             : fmt::format("more than {} runs a side would be needed", kMostMoreRuns);
}

std::string gate_words(const GateVerdict& gate, GateOutcome outcome, const std::string& what,
                       bool is_assumed) {
  if (outcome == GateOutcome::kCannotTell) {
    return "cannot tell yet if " + what + ": " + more_runs_words(gate);
  }
  const std::string sure = is_assumed ? "as far as so few runs tell, " : "surely ";
  return sure + (outcome == GateOutcome::kNoWorse ? "not " : "") + what;
}

}  // namespace

std::string time_gate_words(const GateVerdict& gate, double limit, bool is_assumed) {
  return gate_words(gate, *gate.time, fmt::format("more than {:g} % slower", 100 * limit),
                    is_assumed);
}

std::string memory_gate_words(const GateVerdict& gate, double limit, bool is_assumed) {
  return gate_words(gate, *gate.memory, fmt::format("more than {:g} % more memory", 100 * limit),
                    is_assumed);
}

}  // namespace redline::trace
