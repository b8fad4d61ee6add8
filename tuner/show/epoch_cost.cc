#include "tuner/show/study_texts.h"

#include <fmt/format.h>

#include <cmath>

#include "base/format.h"

namespace redline::tuner {
namespace {

constexpr double kMillion = 1e6;
constexpr double kSecondsAnHour = 3600;

std::string seconds_text(double seconds) {
  return format_wait(std::chrono::nanoseconds(std::llround(seconds * 1e9)));
}

/// "A, with the defaults B": the text of the time that `samples` take with the best configuration
/// and with the defaults.
template <typename Text>
std::string compared(const Best& best, double samples, Text text) {
  std::string result = text(samples / best.estimate.throughput.samples_per_s);
  if (!best.is_default && best.default_estimate) {
    result +=
        ", with the defaults " + text(samples / best.default_estimate->throughput.samples_per_s);
  }
  return result;
}

}  // namespace

std::string tokens_text(const Best& best, const std::string& indent) {
  const auto rate = best.tokens_per_s();
  if (!rate) return "";
  return fmt::format("{}{} tokens/s: {} a sample\n", indent, format_number(*rate),
                     format_number(*best.tokens_per_sample));
}

std::string energy_text(const Best& best, const std::string& indent) {
  if (!best.estimate.joules_per_sample) return "";
  std::string text = fmt::format("{}{} J a sample at {} samples/s", indent,
                                 format_number(*best.estimate.joules_per_sample),
                                 format_number(best.estimate.throughput.samples_per_s));
  if (!best.is_default && best.default_estimate && best.default_estimate->joules_per_sample) {
    text += fmt::format(", with the defaults {} J",
                        format_number(*best.default_estimate->joules_per_sample));
  }
  return text + "\n";
}

std::string step_samples_text(const Best& best, const std::string& indent) {
  const bool known = best.step_samples > 0 && best.default_step_samples > 0;
  if (!known || best.step_samples == best.default_step_samples || best.latency) return "";
  return fmt::format("{}{} samples a step, not {}; the learning rate stays the same\n", indent,
                     format_count(best.step_samples), format_count(best.default_step_samples));
}

std::string epoch_cost_text(const Best& best, std::optional<double> cost_per_hour,
                            const std::string& indent) {
  std::string text;
  const double samples = static_cast<double>(best.epoch_samples.value_or(0));
  if (samples > 0) {
    text += fmt::format("{}an epoch of {} samples takes {}\n", indent,
                        format_count(*best.epoch_samples), compared(best, samples, seconds_text));
  }
  if (!cost_per_hour) return text;
  const auto cost = [&](double seconds) {
    return format_number(seconds / kSecondsAnHour * *cost_per_hour);
  };
  return text + fmt::format("{}{} {}\n", indent,
                            samples > 0 ? "and costs" : "a million samples cost",
                            compared(best, samples > 0 ? samples : kMillion, cost));
}

}  // namespace redline::tuner
