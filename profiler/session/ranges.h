// User ranges of the calling thread, and steps that begin at ranges of a name (`redline record
// --step-marker NAME`). Every source of ranges and marks shows them to StepMarker.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>

#include "profiler/source/source.h"

namespace redline::profiler {

void push_range(std::string_view name);
void pop_range();

class StepMarker {
 public:
  /// From now on `step_begins` is called for ranges and marks of this name. nullptr ends the calls.
  void watch(const std::string& name, void (*step_begins)());
  void add_source(MarkerSource* source);

  [[nodiscard]] bool is_watched() const { return is_watched_.load(std::memory_order_acquire); }
  /// To be called when a range begins or a mark is set on this thread. Costs one load if no name is
  /// watched.
  void see(std::string_view name) noexcept {
    if (is_watched()) compare(name);
  }

 private:
  void compare(std::string_view name) noexcept;

  std::atomic<bool> is_watched_ = false;
  std::mutex mutex_;
  std::string name_;
  void (*step_begins_)() = nullptr;
  MarkerSource* source_ = nullptr;
};

[[nodiscard]] StepMarker& step_marker();

}  // namespace redline::profiler
