#include "profiler/python/training_loop.h"

#include <algorithm>
#include <string>
#include <utility>

#include "profiler/c_api.h"
#include "trace/emit/step_log_terms.h"

namespace redline::profiler {
namespace {

constexpr int kBackwardsWithoutStep = 64;  // as in python/redline/_training_signs.py
// L-BFGS makes as many passes in a step as the script asks for. Some jobs are one such step.
constexpr int kBackwardsWithinStep = 10'000;
constexpr size_t kMostWaiting = 2048;  // a script may skip batches without end
constexpr int kEpoch = static_cast<int>(trace::LogMarkKind::kEpoch);

int64_t added(int64_t sum, int64_t more) { return std::max<int64_t>(sum, 0) + more; }

}  // namespace

[[gnu::hot]] std::optional<TrainingLoop::Step> TrainingLoop::batch_is_due() {
  if (!std::exchange(inferred_, false) || trained_) return {};
  if (made_optimizer_ || backwards_ > 0) {
    drop_evaluated();
    redline_log_evaluated();
    return {};
  }
  take_batches();
  step_.is_inference = evaluated_ = true;
  return end_step();
}

[[gnu::hot]] void TrainingLoop::batch_came(LoaderId loader, std::optional<int64_t> samples,
                                           bool begins_pass) {
  trained_ = false;
  took_batch_ = true;
  evaluated_model_ = nullptr;
  latest_loader_ = loader;
  if (begins_pass && loader == trained_loader_) trained_loader_ = {};
  if (!samples) return;
  if (begins_pass) {  // nobody will compute with what earlier passes left
    std::erase_if(waiting_, [&](const Waiting& one) {
      return one.is_over || one.loader == loader || one.batches.empty();
    });
  }
  auto its = std::ranges::find(waiting_, loader, &Waiting::loader);
  if (its == waiting_.end()) its = waiting_.insert(its, {loader, {}});
  if (its->batches.size() == kMostWaiting) {
    its->batches.erase(its->batches.begin(), its->batches.begin() + kMostWaiting / 2);
    its->next -= std::min(its->next, kMostWaiting / 2);
  }
  its->batches.push_back({*samples, begins_pass});
}

void TrainingLoop::pass_ended(LoaderId loader) {
  const auto its = std::ranges::find(waiting_, loader, &Waiting::loader);
  if (its != waiting_.end()) its->is_over = true;
  if (evaluated_) redline_log_pause();  // what comes before the next pass is of no batch
}

/// Where no loader gives the batches, a model that trains was evaluated: unlike a teacher, which
/// never trains. What each step begins with belongs to the steps, as in reinforcement learning.
[[gnu::hot]] void TrainingLoop::model_trains(const void* model) {
  if (model == std::exchange(evaluated_model_, nullptr)) {
    evaluates_first_ = true;
    if (!evaluated_first_) redline_log_evaluated();
  }
  trained_ = true;
  take_batches();
}

void TrainingLoop::model_evaluates(const void* model) {
  model_infers();
  if (evaluated_model_ == nullptr && !took_batch_ && !trained_) evaluated_model_ = model;
}

/// On a batch of a pass that trains, this is no evaluation: GradCache (open_clip's --accum-freq)
/// trains on several batches after it has run on each of them.
void TrainingLoop::model_looks_ahead() {
  if (trained_loader_ != LoaderId{} && latest_loader_ == trained_loader_) {
    trained_ = true;
  } else {
    model_infers();
  }
}

void TrainingLoop::add_tokens(std::optional<int64_t> tokens) {
  step_.tokens = tokens ? added(step_.tokens, *tokens) : kUnknown;
}

[[gnu::hot]] std::optional<TrainingLoop::Step> TrainingLoop::backward_ended(bool within_optimizer) {
  trained_ = true;
  if (!has_taken_) take_batches();  // the model may have been in evaluation mode
  has_taken_ = false;
  if (stepped_) return {};
  ++backwards_;
  // An optimizer of torch.optim will step, perhaps after many passes. A job without one updates its
  // parameters after each, by hand or by an optimizer of its own.
  const int without_step = within_optimizer ? kBackwardsWithinStep : kBackwardsWithoutStep;
  if (made_optimizer_ && backwards_ < without_step) return {};
  return end_step();
}

void TrainingLoop::optimizer_made() {
  made_optimizer_ = true;
  const bool infers = inferred_ && !stepped_ && backwards_ == 0;
  if (evaluated_ || infers) redline_log_pause();
}

[[gnu::hot]] TrainingLoop::Step TrainingLoop::optimizer_stepped() {
  stepped_ = true;
  return end_step();
}

[[gnu::hot]] TrainingLoop::Step TrainingLoop::end_step() {
  inferred_ = trained_ = took_batch_ = false;
  evaluated_model_ = nullptr;
  evaluated_first_ = std::exchange(evaluates_first_, false);
  return std::exchange(step_, {});
}

/// The next of each loader: scripts may read two loaders side by side.
[[gnu::hot]] void TrainingLoop::take_batches() {
  if (trained_ && std::exchange(evaluated_, false)) epochs_ = 0;
  if (trained_) trained_loader_ = latest_loader_;
  bool begins_pass = false;
  for (Waiting& its : waiting_) {
    if (its.next == its.batches.size()) continue;
    const Batch batch = its.batches[its.next];
    if (++its.next == its.batches.size()) {
      its.batches.clear();
      its.next = 0;
    }
    batch_samples_ = batch.samples;
    step_.samples = added(step_.samples, batch.samples);
    has_taken_ = true;
    begins_pass = begins_pass || batch.begins_pass;
  }
  if (begins_pass) redline_log_mark(kEpoch, 0, std::to_string(++epochs_).c_str());
}

void TrainingLoop::drop_evaluated() {
  std::erase_if(waiting_, [&](const Waiting& one) { return one.loader == latest_loader_; });
}

}  // namespace redline::profiler
