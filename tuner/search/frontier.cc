#include "tuner/search/frontier.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <vector>

#include "tuner/space/hook_knobs.h"

namespace redline::tuner {
namespace {

constexpr std::string_view kBatch = "batch_size";
// A small limit may be all weights and libraries: then a share of the room for samples counts.
constexpr double kAimedShare = 0.95;
constexpr double kThrashing = 0.97;  ///< of the limit: above it allocators begin to
constexpr double kBoldestJump = 16;
constexpr double kCarefulJump = 2;
constexpr double kWorthJumping = 1.15;  ///< growth of the batch that a trial must promise
constexpr double kBracketClosed = 1.3;  ///< failed / ok

std::optional<int64_t> batch_of(const History& history, const Config& config) {
  const Config all = history.effective(config);
  const auto found = all.find(std::string(kBatch));
  return found == all.end() ? std::nullopt : parse_integer(found->second);
}

/// Readings of equal jobs differ by a percent or so; growth below that says nothing.
constexpr double kTellingGrowth = 0.02;

/// Its own line, else one with the weights of the first stratum that has a line.
std::optional<MemoryLine> line_of(const std::vector<MemoryReading>& own,
                                  const std::map<Config, std::vector<MemoryReading>>& all) {
  if (const auto line = fit_memory_line(own); line || own.empty()) return line;
  for (const auto& [stratum, readings] : all) {
    if (const auto other = fit_memory_line(readings)) {
      return borrow_memory_line(other->fixed_bytes, own.back());
    }
  }
  return std::nullopt;
}

struct Failure {
  Config stratum;
  int64_t batch;
  bool of_device;  ///< perhaps; what never ran for want of host memory says nothing of it
};

/// Full by what the loader keeps ready: fewer batches of the same size may fit.
bool by_loader(const FinishedTrial& trial) {
  return trial.result.outcome == Outcome::kShmFull || trial.result.not_started;
}

}  // namespace

double MemoryLine::batch_within(uint64_t limit_bytes, double share) const {
  return (static_cast<double>(limit_bytes) * share - fixed_bytes) / bytes_per_sample;
}

std::optional<MemoryLine> borrow_memory_line(double fixed_bytes, const MemoryReading& reading) {
  const double activations = static_cast<double>(reading.peak_bytes) - fixed_bytes;
  if (activations < kTellingGrowth * static_cast<double>(reading.peak_bytes)) return std::nullopt;
  return MemoryLine{.fixed_bytes = fixed_bytes,
                    .bytes_per_sample = activations / static_cast<double>(reading.batch_size)};
}

std::optional<MemoryLine> fit_memory_line(std::vector<MemoryReading> readings) {
  std::sort(readings.begin(), readings.end(),
            [](const auto& a, const auto& b) { return a.batch_size < b.batch_size; });
  if (readings.size() < 2) return std::nullopt;
  const MemoryReading& far = readings.back();
  for (size_t i = readings.size() - 1; i-- > 0;) {
    const MemoryReading& near = readings[i];
    if (near.batch_size == far.batch_size) continue;
    const double growth =
        static_cast<double>(far.peak_bytes) - static_cast<double>(near.peak_bytes);
    if (growth < kTellingGrowth * static_cast<double>(far.peak_bytes)) continue;
    MemoryLine line;
    line.bytes_per_sample = growth / static_cast<double>(far.batch_size - near.batch_size);
    line.fixed_bytes = static_cast<double>(far.peak_bytes) -
                       line.bytes_per_sample * static_cast<double>(far.batch_size);
    return line;
  }
  return std::nullopt;
}

Config memory_stratum(const History& history, const Config& config) {
  Config rest = history.effective(config);
  rest.erase(std::string(kBatch));
  std::erase_if(rest, [](const auto& entry) {
    const HookKnob* hook = find_hook_knob(entry.first);
    return hook && !hook->moves_memory;
  });
  return rest;
}

Frontier find_frontier(const History& history, const Config& config) {
  const Config wanted = memory_stratum(history, config);
  Frontier frontier;
  std::map<Config, std::vector<MemoryReading>> readings;
  std::vector<Failure> failures;
  const auto waiting = batches_in_flight(history, config);
  for (const FinishedTrial& trial : history.trials()) {
    const std::optional<int64_t> batch = batch_of(history, trial.config);
    if (!batch) continue;
    const Config own = memory_stratum(history, trial.config);
    if (trial.ok() && trial.result.peak_memory_bytes) {
      readings[own].push_back(
          {.batch_size = *batch, .peak_bytes = *trial.result.peak_memory_bytes});
    }
    bool failed = trial.out_of_memory() || trial.result.outcome == Outcome::kHang;
    if (failed && by_loader(trial)) {
      const auto then = batches_in_flight(history, trial.config);
      failed = !then || !waiting || *waiting >= *then;
    }
    if (failed) failures.push_back({own, *batch, !trial.result.not_started});
    if (own != wanted) continue;
    if (trial.ok()) {
      frontier.largest_ok = std::max(frontier.largest_ok.value_or(0), *batch);
    } else if (failed) {
      frontier.smallest_failed = std::min(frontier.smallest_failed.value_or(*batch), *batch);
    }
  }
  frontier.line = line_of(readings[wanted], readings);
  for (const auto& [stratum, batch, of_device] : failures) {
    if (batch > frontier.largest_ok.value_or(0)) {
      frontier.failed_elsewhere = std::min(frontier.failed_elsewhere.value_or(batch), batch);
    }
    const auto line = line_of(readings[stratum], readings);
    if (!line || !of_device) continue;
    const double promised = line->fixed_bytes + line->bytes_per_sample * static_cast<double>(batch);
    frontier.failed_bytes = std::min(frontier.failed_bytes, promised);
  }
  return frontier;
}

std::optional<double> Frontier::middle() const {
  // A hang at a size that ran another time says nothing about memory.
  if (!largest_ok || !smallest_failed || *smallest_failed <= *largest_ok) return std::nullopt;
  return std::sqrt(static_cast<double>(*largest_ok) * static_cast<double>(*smallest_failed));
}

std::optional<int64_t> Frontier::next(const Knob& batch, std::optional<uint64_t> limit_bytes,
                                      double most) const {
  if (!largest_ok) return std::nullopt;
  const auto ok = static_cast<double>(*largest_ok);
  const double failed = smallest_failed ? static_cast<double>(*smallest_failed) : HUGE_VAL;
  if (failed / ok < kBracketClosed) return std::nullopt;

  double target = std::min(kBoldestJump * ok, std::sqrt(ok * failed));
  if (failed_elsewhere) {
    const auto elsewhere = static_cast<double>(*failed_elsewhere);
    const bool beyond = elsewhere / ok < kBracketClosed;
    target = std::min(target, beyond ? kCarefulJump * ok : std::sqrt(ok * elsewhere));
  }
  if (line && limit_bytes) {
    const auto limit =
        static_cast<uint64_t>(std::min(static_cast<double>(*limit_bytes), failed_bytes));
    const double within =
        std::min(line->batch_in_room(limit, kAimedShare), line->batch_within(limit, kThrashing));
    // A trial that failed where the line saw room shows the line to be wrong: bisect then.
    if (within < kAimedShare * failed) target = std::min(within, kBoldestJump * ok);
  }
  const int64_t next = batch.at_most(std::min(target, most));
  if (static_cast<double>(next) < kWorthJumping * ok) return std::nullopt;
  return next;
}

}  // namespace redline::tuner
