// Counts launches of CUDA graphs for which CUPTI gave no work. Some versions of CUPTI give none for
// graphs that were captured before CUPTI was on, and report no error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>

namespace redline::cupti {

class GraphLaunches {
 public:
  static constexpr size_t kMost = size_t{1} << 18;  ///< so many launches may wait for their work

  void add_launch(uint32_t correlation) {
    Launch& launch = place(correlation);
    if (!launch.is_called) ++count_;
    launch.is_called = true;
  }
  /// May come before add_launch(). `node` is 0 if the work is of no graph, or CUPTI does not tell.
  void see_work(uint32_t correlation, uint64_t node) {
    if (node != 0 || launches_.contains(correlation)) place(correlation).has_work = true;
  }

  [[nodiscard]] uint64_t count() const { return count_; }
  /// Right only at the window's end, because work may come long after its launch.
  [[nodiscard]] uint64_t without_work() const {
    uint64_t without = forgotten_without_work_;
    for (const auto& [correlation, launch] : launches_) without += launch.is_empty() ? 1 : 0;
    return without;
  }

 private:
  struct Launch {
    bool is_called = false;
    bool has_work = false;
    [[nodiscard]] bool is_empty() const { return is_called && !has_work; }
  };

  Launch& place(uint32_t correlation) {
    const auto [place, is_new] = launches_.try_emplace(correlation);
    if (!is_new) return place->second;
    order_.push_back(correlation);
    if (order_.size() <= kMost) return place->second;
    const auto oldest = launches_.find(order_.front());
    order_.pop_front();
    forgotten_without_work_ += oldest->second.is_empty() ? 1 : 0;
    launches_.erase(oldest);
    return launches_.at(correlation);
  }

  std::unordered_map<uint32_t, Launch> launches_;
  std::deque<uint32_t> order_;
  uint64_t count_ = 0;
  uint64_t forgotten_without_work_ = 0;
};

}  // namespace redline::cupti
