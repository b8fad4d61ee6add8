#include "profiler/session/step_marker.h"

#include "profiler/session/recorder.h"

namespace redline::profiler {

StepMarker& step_marker() {
  static StepMarker* const marker = new StepMarker;  // threads may pass until the very end
  return *marker;
}

void StepMarker::watch(const std::string& name, void (*step_begins)()) {
  MarkerSource* source = nullptr;
  {
    const std::lock_guard lock(mutex_);
    name_ = name;
    step_begins_ = step_begins;
    source = source_;
  }
  is_watched_ = step_begins != nullptr;
  if (is_watched_ && source != nullptr) source->watch_markers();
}

void StepMarker::add_source(MarkerSource* source) {
  {
    const std::lock_guard lock(mutex_);
    source_ = source;
  }
  if (is_watched_) source->watch_markers();
}

void StepMarker::compare(std::string_view name) noexcept {
  if (!Recorder::instance().is_alive()) return;
  void (*step_begins)() = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (name == name_) step_begins = step_begins_;
  }
  if (step_begins != nullptr) step_begins();
}

}  // namespace redline::profiler
