// Random lanes for tests: bursts, gaps, slices from 0 ns to a third of the lane.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "viewer/models/lane_pyramid.h"

namespace redline::viewer {

struct RandomLane {
  std::vector<int64_t> begin_ns;
  std::vector<int64_t> end_ns;
  std::vector<uint8_t> classes;

  RandomLane(uint32_t seed, size_t count, int64_t start_ns) {
    std::mt19937 random(seed);
    const auto below = [&](int64_t n) {
      return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
    };
    int64_t now = start_ns;
    for (size_t i = 0; i < count; ++i) {
      now += below(20) == 0 ? below(200'000) : below(300);
      const int64_t length = below(50) == 0 ? below(100'000) : below(1'000);
      begin_ns.push_back(now);
      now += length;
      end_ns.push_back(now);
      classes.push_back(static_cast<uint8_t>(below(10)));
      if (length == 0) ++now;
    }
  }

  [[nodiscard]] LaneColumns columns() const { return {begin_ns, end_ns, classes}; }
};

}  // namespace redline::viewer
