#include "tuner/trial/trial_result.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/format.h"

namespace redline::tuner {
namespace {

constexpr std::array<std::pair<Outcome, const char*>, 10> kNames{{
    {Outcome::kOk, "ok"},
    {Outcome::kGpuOom, "gpu_oom"},
    {Outcome::kHostOom, "host_oom"},
    {Outcome::kShmFull, "shm_full"},
    {Outcome::kThrash, "thrash"},
    {Outcome::kInvalid, "invalid"},
    {Outcome::kHang, "hang"},
    {Outcome::kCrash, "crash"},
    {Outcome::kNanLoss, "nan_loss"},
    {Outcome::kCancelled, "cancelled"},
}};

}  // namespace

const char* unit_of(Objective objective) {
  switch (objective) {
    case Objective::kSamplesPerJoule:
      return "samples/J";
    case Objective::kStepsPerSecond:
      return "steps/s";
    case Objective::kMetric:
      return "by --metric";
    case Objective::kSamplesPerSecond:
      break;
  }
  return "samples/s";
}

Objective objective_of(std::string_view word) {
  for (const Objective objective : {Objective::kSamplesPerJoule, Objective::kStepsPerSecond}) {
    if (word == word_of(objective)) return objective;
  }
  return Objective::kSamplesPerSecond;
}

const char* word_of(Objective objective) {
  if (objective == Objective::kSamplesPerJoule) return "energy";
  return objective == Objective::kStepsPerSecond ? "steps" : "";
}

std::string interval_text(const Throughput& rate) {
  return fmt::format("{} to {}", format_number(rate.low), format_number(rate.high));
}

const char* to_string(Outcome outcome) {
  for (const auto& [value, name] : kNames) {
    if (value == outcome) return name;
  }
  return "unknown";
}

std::optional<Outcome> outcome_from_string(const std::string& text) {
  for (const auto& [value, name] : kNames) {
    if (text == name) return value;
  }
  return std::nullopt;
}

}  // namespace redline::tuner
