// Trains a small convolutional network on digits with LibTorch, and shows Redline's C++ API: a
// profiler with a schedule, a step() at the end of each step, and a few ranges; and a trial that
// takes knobs from autotune and reports its steps.
//
//   mnist --steps 100                          digits drawn here
//   mnist --data ~/mnist --epochs 2            MNIST's IDX files
//   mnist --steps 20 --trace traces            records steps 2 to 4 into traces/
//   redline record -- mnist --steps 20         the same, from outside
//   autotune --knob batch_size=8..512 --knob num_threads=1..8 -- mnist --epochs 100
#include <ATen/Parallel.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/pooling.h>
#include <torch/optim/adam.h>
#include <torch/utils.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <exception>
#include <limits>
#include <optional>
#include <string>

#include "digits.h"
#include "profiler/redline.h"
#include "tuner/client/trial.h"

namespace {

namespace nn = torch::nn;

struct Options {
  std::string data;
  std::string trace;
  int64_t epochs = 1;
  int64_t steps = 0;  ///< 0: no limit
  int64_t batch_size = 64;
  double learning_rate = 1e-3;
  uint64_t seed = 1;
  bool print_loss_bits = false;
};

struct Progress {
  int64_t steps = 0;
  float loss = std::numeric_limits<float>::quiet_NaN();
  double seconds = 0;
};

nn::Sequential make_model() {
  return nn::Sequential(nn::Conv2d(nn::Conv2dOptions(1, 16, 3).padding(1)), nn::ReLU(),
                        nn::MaxPool2d(2), nn::Conv2d(nn::Conv2dOptions(16, 32, 3).padding(1)),
                        nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(), nn::Linear(32 * 7 * 7, 10));
}

float train_batch(nn::Sequential& model, torch::optim::Optimizer& optimizer,
                  const torch::Tensor& images, const torch::Tensor& labels) {
  optimizer.zero_grad();
  torch::Tensor loss;
  {
    const redline::range range("forward");
    loss = nn::functional::cross_entropy(model->forward(images), labels);
  }
  {
    const redline::range range("backward");
    loss.backward();
  }
  const redline::range range("optimizer");
  optimizer.step();
  return loss.item<float>();
}

Progress train(nn::Sequential& model, const Digits& digits, const Options& options,
               redline::Profiler* profiler, redline::Trial& trial) {
  torch::optim::Adam optimizer(model->parameters(), options.learning_rate);
  Progress progress;
  const auto begin = std::chrono::steady_clock::now();
  for (int64_t epoch = 0; epoch < options.epochs; ++epoch) {
    const auto order = torch::randperm(digits.size());
    for (const auto& batch : order.split(options.batch_size)) {
      if (options.steps > 0 && progress.steps == options.steps) break;
      progress.loss = train_batch(model, optimizer, digits.images.index_select(0, batch),
                                  digits.labels.index_select(0, batch));
      if (++progress.steps % 50 == 0) {
        std::printf("step %ld loss %.4f\n", static_cast<long>(progress.steps), progress.loss);
      }
      if (profiler != nullptr) profiler->step();
      trial.step(batch.size(0));
    }
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  progress.seconds = elapsed.count();
  return progress;
}

double accuracy_of(nn::Sequential& model, const Digits& digits) {
  const torch::NoGradGuard no_grad;
  constexpr int64_t kBatch = 500;
  int64_t right = 0;
  for (int64_t at = 0; at < digits.size(); at += kBatch) {
    const int64_t end = std::min(at + kBatch, digits.size());
    const auto guesses = model->forward(digits.images.slice(0, at, end)).argmax(1);
    right += guesses.eq(digits.labels.slice(0, at, end)).sum().item<int64_t>();
  }
  return static_cast<double>(right) / static_cast<double>(digits.size());
}

int run(Options options) {
  redline::Trial trial = redline::Trial::from_environment();
  options.batch_size = trial.knob("batch_size", options.batch_size);
  at::set_num_threads(static_cast<int>(trial.knob("num_threads", at::get_num_threads())));
  torch::manual_seed(options.seed);
  const bool is_mnist = !options.data.empty();
  const Digits training =
      is_mnist ? read_mnist(options.data, "train") : draw_digits(12'800, options.seed);
  const Digits testing =
      is_mnist ? read_mnist(options.data, "t10k") : draw_digits(1'000, options.seed + 1);
  nn::Sequential model = make_model();

  std::optional<redline::Profiler> profiler;
  if (!options.trace.empty() || redline::recording_requested()) {
    profiler.emplace(
        redline::ProfilerOptions{.schedule = {.wait = 1, .warmup = 1, .active = 3, .repeat = 1},
                                 .on_trace_ready = redline::write_chrome_trace(options.trace)});
  }
  const Progress progress = train(model, training, options, profiler ? &*profiler : nullptr, trial);
  profiler.reset();

  const double samples = static_cast<double>(progress.steps * options.batch_size);
  if (options.print_loss_bits) std::printf("loss bits %a\n", progress.loss);
  std::printf("loss %.4f accuracy %.2f samples/s %.1f\n", progress.loss,
              accuracy_of(model, testing), samples / progress.seconds);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Trains a small convolutional network on digits, recorded by Redline.");
  app.footer(
      "Examples:\n  mnist --steps 100\n  mnist --data ~/mnist --epochs 2\n"
      "  mnist --steps 20 --trace traces\n  redline record -- mnist --steps 20");
  app.add_option("--data", options.data, "Folder of MNIST's IDX files (default: drawn digits)");
  app.add_option("--trace", options.trace, "Record steps 2 to 4 into this folder");
  app.add_option("--epochs", options.epochs)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--steps", options.steps, "Stop after so many steps");
  app.add_option("--batch-size", options.batch_size)
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--lr", options.learning_rate, "Learning rate")->capture_default_str();
  app.add_option("--seed", options.seed)->capture_default_str();
  app.add_flag("--print-loss-bits", options.print_loss_bits, "Print the last loss exactly");
  CLI11_PARSE(app, argc, argv);
  try {
    return run(options);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "mnist: %s\n", failure.what());
    return 1;
  }
}
