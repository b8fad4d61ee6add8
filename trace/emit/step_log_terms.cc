#include "trace/emit/step_log_terms.h"

#include <algorithm>
#include <cmath>

#include "base/integer.h"

namespace redline::trace {
namespace {

/// The sum of the squares of the single steps' lengths.
double square_sum(const LoggedStep& step) {
  const double mean = step.mean_ns();
  return static_cast<double>(step.steps) * (mean * mean + step.deviation_ns * step.deviation_ns);
}

void append(LoggedStep& minute, const LoggedStep& step) {
  const double squares = square_sum(minute) + square_sum(step);
  minute.steps += step.steps;
  minute.length_ns += step.length_ns;
  minute.samples = sum_of_seen(minute.samples, step.samples);
  minute.tokens = sum_of_seen(minute.tokens, step.tokens);
  for (size_t part = 0; part < kLogParts; ++part) {
    minute.part_ns[part] = sum_of_seen(minute.part_ns[part], step.part_ns[part]);
  }
  minute.shortest_ns = std::min(minute.shortest_ns, step.shortest_ns);
  minute.longest_ns = std::max(minute.longest_ns, step.longest_ns);
  const double mean = minute.mean_ns();
  const double variance = squares / static_cast<double>(minute.steps) - mean * mean;
  minute.deviation_ns = std::sqrt(std::max(variance, 0.0));
}

}  // namespace

int64_t sum_of_seen(int64_t a, int64_t b) {
  if (a < 0) return b;
  return b < 0 ? a : a + b;
}

ReadBatches read_batches_in(std::string_view text) {
  constexpr std::string_view kDataParallel = " data parallel";
  ReadBatches read;
  read.is_data_parallel = text.ends_with(kDataParallel);
  if (read.is_data_parallel) text.remove_suffix(kDataParallel.size());
  read.digest = text;
  return read;
}

void append_in_order(std::vector<LoggedStep>& steps, const std::vector<LoggedStep>& more) {
  for (const LoggedStep& step : more) {
    const bool follows = steps.empty() || (step.begin_ns >= steps.back().end_ns() &&
                                           step.step >= steps.back().step + steps.back().steps);
    if (follows) steps.push_back(step);
  }
}

int64_t drop_evaluation(std::vector<LoggedStep>& steps, const std::vector<LogMark>& marks) {
  int64_t first = 0;
  for (const LogMark& mark : marks) {
    if (mark.kind != LogMarkKind::kTraining) continue;
    first = std::max(first, parse_integer(mark.text).value_or(0));
  }
  std::erase_if(steps, [&](const LoggedStep& step) { return step.step < first; });
  return first;
}

void thin_out(std::vector<LoggedStep>& steps, int64_t before_ns, int64_t span_ns) {
  size_t kept = 0;
  for (const LoggedStep& step : steps) {
    LoggedStep* const last = kept > 0 ? &steps[kept - 1] : nullptr;
    const bool joins = last != nullptr && step.begin_ns < before_ns &&
                       last->begin_ns / span_ns == step.begin_ns / span_ns &&
                       last->end_ns() == step.begin_ns && last->step + last->steps == step.step;
    if (joins) {
      append(*last, step);
    } else {
      steps[kept++] = step;
    }
  }
  steps.resize(kept);
}

}  // namespace redline::trace
