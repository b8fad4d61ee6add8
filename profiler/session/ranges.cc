#include "profiler/session/ranges.h"

#include <cstdint>
#include <exception>
#include <string>

#include "profiler/log/per_thread.h"
#include "profiler/session/recorder.h"

namespace redline::profiler {
namespace {

struct OpenRange {
  int64_t begin_ns = 0;  ///< 0 if the range began while nothing was recorded
  BegunSlice begun;
  uint32_t name_generation = 0;
  std::string name;  ///< for a range that lasts longer than its name is interned; memory is reused
};

/// Ranges that are nested deeper are not recorded, but counted, so that pops still match.
constexpr uint32_t kMostOpen = 256;
struct OpenRanges {
  OpenRange open[kMostOpen];
  uint32_t depth = 0;
};

/// Keeps the name, or "" if there is no memory for it.
void keep(std::string_view name, std::string& kept) noexcept {
  try {
    kept = name;
  } catch (const std::exception&) {
    kept.clear();
  }
}

}  // namespace

void push_range(std::string_view name) {
  step_marker().see(name);
  OpenRanges* const ranges = PerThread<OpenRanges>::get();
  if (ranges == nullptr) return;
  const uint32_t depth = ranges->depth++;
  if (depth >= kMostOpen) return;
  OpenRange& open = ranges->open[depth];
  open.begin_ns = 0;
  if (!is_recording()) return;
  // The time is read before the name is interned: a range that began in a window then has a name of
  // that window or of a later one.
  open.begin_ns = monotonic_ns();
  keep(name, open.name);
  open.name_generation = name_generation();
  open.begun = begin_slice(open.begin_ns, RecordKind::kAnnotation, name, {}, 0);
}

void pop_range() {
  OpenRanges* const ranges = PerThread<OpenRanges>::get();
  if (ranges == nullptr || ranges->depth == 0) return;
  const uint32_t depth = --ranges->depth;
  if (depth >= kMostOpen) return;
  const OpenRange& open = ranges->open[depth];
  if (open.begin_ns == 0) return;
  Record record;
  record.begin_ns = open.begin_ns;
  record.of.op.end_ns = monotonic_ns();
  const bool is_known = open.name_generation == name_generation() || open.name.empty();
  record.name = is_known ? open.begun.name : intern_name(open.name);
  record.kind = RecordKind::kAnnotation;
  end_slice(open.begun.slice, record);
}

StepMarker& step_marker() {
  static StepMarker* const marker = new StepMarker;  // never destroyed: threads use it to the end
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
