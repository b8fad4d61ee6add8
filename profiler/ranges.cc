#include "profiler/ranges.h"

#include <cstdint>

#include "profiler/log/per_thread.h"
#include "profiler/source.h"
#include "profiler/step_marker.h"

namespace redline::profiler {
namespace {

struct OpenRange {
  int64_t begin_ns = 0;  ///< 0 where nothing was recorded then
  BegunSlice begun;
};

/// Deeper ranges are counted, so that pops still match, and not recorded.
constexpr uint32_t kMostOpen = 256;
struct OpenRanges {
  OpenRange open[kMostOpen];
  uint32_t depth = 0;
};

}  // namespace

void push_range(std::string_view name) {
  step_marker().see(name);
  OpenRanges* const ranges = PerThread<OpenRanges>::get();
  if (ranges == nullptr) return;
  const uint32_t depth = ranges->depth++;
  if (depth >= kMostOpen) return;
  OpenRange& open = ranges->open[depth];
  open = {};
  if (!is_recording()) return;
  // The time comes first: a name is of the window that was prepared before its range began.
  open.begin_ns = monotonic_ns();
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
  record.name = open.begun.name;
  record.kind = RecordKind::kAnnotation;
  end_slice(open.begun.slice, record);
}

}  // namespace redline::profiler
