// What a script does with its batches, as hooks see it: where its steps end, what they took.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace redline::profiler {

/// Tells one DataLoader from another; it is the same in all passes over it.
enum class LoaderId : uintptr_t {};

/// Tells the step log of passes and evaluations; the caller tells it of the steps. Of one thread at
/// a time: the interpreter lock is held.
class TrainingLoop {
 public:
  static constexpr int64_t kUnknown = -1;

  struct Step {
    int64_t samples = kUnknown;
    int64_t tokens = kUnknown;
    bool is_inference = false;
  };

  /// The script asks for a batch, so it has done with the one before: in inference a step has
  /// ended.
  [[nodiscard]] std::optional<Step> batch_is_due();
  void batch_came(LoaderId loader, std::optional<int64_t> samples, bool begins_pass);
  void pass_ended(LoaderId loader);
  /// A model is called on the batch: with gradients, or without.
  void model_trains(const void* model);
  void model_infers() { inferred_ = true; }
  /// The same, and in evaluation mode.
  void model_evaluates(const void* model);
  /// In training mode, without gradients.
  void model_looks_ahead();
  /// Of the model's input; nullopt where that does not tell.
  void add_tokens(std::optional<int64_t> tokens);
  /// A step has ended where no optimizer of torch.optim steps. `within_optimizer`: its closure
  /// makes the pass.
  [[nodiscard]] std::optional<Step> backward_ended(bool within_optimizer);
  /// The leading optimizer, whose steps are those of the job.
  [[nodiscard]] Step optimizer_stepped();
  void optimizer_made();
  /// What a forked child, which has a loop of its own, begins with.
  [[nodiscard]] TrainingLoop in_child() const {
    TrainingLoop loop;
    loop.made_optimizer_ = made_optimizer_;
    return loop;
  }

  /// Of what is computed with now.
  [[nodiscard]] int64_t batch_samples() const { return batch_samples_; }

 private:
  struct Batch {
    int64_t samples;
    bool begins_pass;
  };

  /// What a loader gave and nobody has computed with yet. Scripts may ask for some batches before
  /// they need them: accelerate for one, transformers for all that it accumulates.
  struct Waiting {
    LoaderId loader;
    std::vector<Batch> batches;
    size_t next = 0;  // earlier ones are taken
    bool is_over = false;
  };

  [[nodiscard]] Step end_step();
  void take_batches();
  void drop_evaluated();

  Step step_;  // so far
  std::vector<Waiting> waiting_;
  LoaderId latest_loader_{};
  LoaderId trained_loader_{};  // in its present pass
  int64_t batch_samples_ = kUnknown;
  bool has_taken_ = false;  // batches for the next backward pass
  bool inferred_ = false;   // on the latest batch, as the next
  bool trained_ = false;
  // Since the step began:
  bool took_batch_ = false;
  const void* evaluated_model_ = nullptr;  // before any batch and any training
  bool evaluates_first_ = false;           // the model that it then trains
  bool evaluated_first_ = false;           // the step before did so
  bool made_optimizer_ = false;
  bool stepped_ = false;
  bool evaluated_ = false;  // batches that seemed to be inference
  int backwards_ = 0;
  int64_t epochs_ = 0;
};

}  // namespace redline::profiler
