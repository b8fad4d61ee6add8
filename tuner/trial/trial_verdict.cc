#include "tuner/trial/trial_verdict.h"

#include <fmt/format.h>

#include <cmath>

#include "base/format.h"

namespace redline::tuner {
namespace {

using std::chrono::seconds;

Verdict on_step_size(const TrialFacts& facts) {
  const int64_t samples = facts.measurement.median_step_samples();
  const auto& wanted = facts.spec.global_batch;
  if (!wanted || samples == 0 || samples == *wanted) return {};
  const int ranks = facts.measurement.world_size();
  return {Outcome::kInvalid, -1,
          fmt::format("a step took {} samples over {}, not the {} of --global-batch", samples,
                      format_plural(ranks, "rank"), *wanted)};
}

std::string why_nothing_was_measured(const TrialFacts& facts) {
  if (!facts.spec.metric_regex.empty()) {
    return "the command ended and no line on stdout matches --metric";
  }
  if (facts.measurement.latest_ns() == 0) {
    return "the command ended without an optimizer step that the hook could see; programs that are "
           "not PyTorch in Python need --metric";
  }
  return fmt::format("the command ended after {} counted steps, too few to measure",
                     facts.measurement.steps());
}

}  // namespace

Verdict verdict_on(const TrialFacts& facts) {
  if (facts.end == TrialEnd::kCancelled) return {Outcome::kCancelled, -1, "cancelled"};
  if (facts.end == TrialEnd::kMeasured || facts.end == TrialEnd::kBehind) {
    return on_step_size(facts);
  }
  const Verdict found = judge(facts.evidence);
  if (found.outcome != Outcome::kOk) return found;
  if (std::isnan(facts.throughput.value_or(Throughput{}).samples_per_s)) {
    return {Outcome::kNanLoss, -1, "the metric is NaN"};
  }
  if (facts.end == TrialEnd::kHang) {
    return {Outcome::kHang, -1,
            fmt::format("no step for {} s", std::chrono::ceil<seconds>(facts.silence).count())};
  }
  if (facts.throughput) return on_step_size(facts);
  if (facts.end == TrialEnd::kTimeout) {
    return {Outcome::kHang, -1,
            fmt::format("no result within {} s",
                        std::chrono::duration_cast<seconds>(facts.spec.timeout).count())};
  }
  return {Outcome::kInvalid, -1, why_nothing_was_measured(facts)};
}

}  // namespace redline::tuner
