// The batch size in a staged search: along the line of memory to the limit, then between the
// neighbours of the best while its peak is steep.
#pragma once

#include <vector>

#include "tuner/search/strategy.h"
#include "tuner/search/walk.h"

namespace redline::tuner {

class BatchStage {
 public:
  /// All must outlive this.
  BatchStage(Walk& walk, const Knob& batch, const SearchSettings& settings)
      : walk_(walk), batch_(batch), settings_(settings) {}

  /// False: a trial is wanted first.
  [[nodiscard]] bool run();

  /// By the incumbent's rate: a batch whose steps take longer leaves no time for other trials.
  [[nodiscard]] double affordable() const;
  [[nodiscard]] std::optional<uint64_t> memory_limit() const;

 private:
  struct Point {
    int64_t batch;
    double rate;
  };

  [[nodiscard]] bool try_size(int64_t size, const std::string& why);
  [[nodiscard]] bool frontier_again();
  [[nodiscard]] bool jump_to_frontier();
  [[nodiscard]] bool refine();
  [[nodiscard]] std::vector<Point> points() const;
  [[nodiscard]] std::optional<int64_t> between_neighbours(const std::vector<Point>& measured) const;

  Walk& walk_;
  const Knob& batch_;
  const SearchSettings& settings_;
};

}  // namespace redline::tuner
