#include "profiler/python/training_loop.h"

#include <algorithm>
#include <string>
#include <utility>

#include "profiler/c_api.h"
#include "trace/emit/step_log_terms.h"

namespace redline::profiler {
namespace {

constexpr int kBackwardsWithoutStep = 64;  // as in python/redline/_training_signs.py
constexpr int kEpoch = static_cast<int>(trace::LogMarkKind::kEpoch);

int64_t added(int64_t sum, int64_t more) { return std::max<int64_t>(sum, 0) + more; }

}  // namespace

[[gnu::hot]] std::optional<TrainingLoop::Step> TrainingLoop::batch_is_due() {
  if (!std::exchange(inferred_, false) || trained_) return {};
  if (made_optimizer_ || backwards_ > 0) {
    redline_log_evaluated();
    return {};
  }
  take_batch();
  return end_step();
}

[[gnu::hot]] void TrainingLoop::batch_came(std::optional<int64_t> samples, bool begins_pass) {
  trained_ = false;
  begins_pass_ = begins_pass_ || begins_pass;
  batch_ = samples;
}

[[gnu::hot]] void TrainingLoop::model_trains() {
  trained_ = true;
  take_batch();
}

void TrainingLoop::add_tokens(std::optional<int64_t> tokens) {
  step_.tokens = tokens ? added(step_.tokens, *tokens) : kUnknown;
}

[[gnu::hot]] std::optional<TrainingLoop::Step> TrainingLoop::backward_ended() {
  model_trains();  // it may have been in evaluation mode
  if (stepped_) return {};
  ++backwards_;
  // An optimizer of torch.optim will step, perhaps after many passes. A job without one updates its
  // parameters after each, by hand or by an optimizer of its own.
  if (made_optimizer_ && backwards_ < kBackwardsWithoutStep) return {};
  return end_step();
}

[[gnu::hot]] TrainingLoop::Step TrainingLoop::optimizer_stepped() {
  stepped_ = true;
  return end_step();
}

[[gnu::hot]] TrainingLoop::Step TrainingLoop::end_step() {
  inferred_ = trained_ = false;
  return std::exchange(step_, {});
}

/// The latest one is for what is computed now.
[[gnu::hot]] void TrainingLoop::take_batch() {
  if (!batch_) return;
  step_.samples = added(step_.samples, *std::exchange(batch_, std::nullopt));
  if (!std::exchange(begins_pass_, false)) return;
  redline_log_mark(kEpoch, 0, std::to_string(++epochs_).c_str());
}

}  // namespace redline::profiler
