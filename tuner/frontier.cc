#include "tuner/frontier.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <vector>

namespace redline::tuner {
namespace {

constexpr std::string_view kBatch = "batch_size";
/// Knobs that do not move a rank's peak memory by much.
constexpr std::array<std::string_view, 6> kOutsideStratum = {
    kBatch, "num_workers", "prefetch_factor", "persistent_workers", "pin_memory", "accumulation"};

// A small limit may be all weights and libraries: then a share of the room for samples counts.
constexpr double kAimedShare = 0.95;
constexpr double kThrashing = 0.97;  ///< of the limit: above it allocators begin to
constexpr double kBoldestJump = 16;
constexpr double kWorthJumping = 1.15;  ///< growth of the batch that a trial must promise
constexpr double kBracketClosed = 1.3;  ///< failed / ok

Config stratum(const History& history, const Config& config) {
  Config rest = history.effective(config);
  for (const std::string_view name : kOutsideStratum) rest.erase(std::string(name));
  return rest;
}

std::optional<int64_t> batch_of(const History& history, const Config& config) {
  const Config all = history.effective(config);
  const auto found = all.find(std::string(kBatch));
  return found == all.end() ? std::nullopt : parse_integer(found->second);
}

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

}  // namespace

Frontier find_frontier(const History& history, const Config& config) {
  const Config wanted = stratum(history, config);
  Frontier frontier;
  std::map<Config, std::vector<MemoryReading>> readings;
  for (const FinishedTrial& trial : history.trials()) {
    const std::optional<int64_t> batch = batch_of(history, trial.config);
    if (!batch) continue;
    const Config own = stratum(history, trial.config);
    if (trial.ok() && trial.result.peak_memory_bytes) {
      readings[own].push_back(
          {.batch_size = *batch, .peak_bytes = *trial.result.peak_memory_bytes});
    }
    if (own != wanted) continue;
    if (trial.ok()) {
      frontier.largest_ok = std::max(frontier.largest_ok.value_or(0), *batch);
    } else if (trial.out_of_memory() || trial.result.outcome == Outcome::kHang) {
      frontier.smallest_failed = std::min(frontier.smallest_failed.value_or(*batch), *batch);
    }
  }
  frontier.line = line_of(readings[wanted], readings);
  return frontier;
}

std::optional<int64_t> Frontier::next(const Knob& batch, std::optional<uint64_t> limit_bytes,
                                      double most) const {
  if (!largest_ok) return std::nullopt;
  const auto ok = static_cast<double>(*largest_ok);
  const double failed = smallest_failed ? static_cast<double>(*smallest_failed) : HUGE_VAL;
  if (failed / ok < kBracketClosed) return std::nullopt;

  double target = std::min(kBoldestJump * ok, std::sqrt(ok * failed));
  if (line && limit_bytes) {
    const double within = std::min(line->batch_in_room(*limit_bytes, kAimedShare),
                                   line->batch_within(*limit_bytes, kThrashing));
    // A trial that failed where the line saw room shows the line to be wrong: bisect then.
    if (within < kAimedShare * failed) target = std::min(within, kBoldestJump * ok);
  }
  const int64_t next = batch.at_most(std::min(target, most));
  if (static_cast<double>(next) < kWorthJumping * ok) return std::nullopt;
  return next;
}

}  // namespace redline::tuner
