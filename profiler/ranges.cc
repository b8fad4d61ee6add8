#include "profiler/ranges.h"

#include <cstdint>

#include "profiler/recorder.h"
#include "profiler/step_marker.h"

namespace redline::profiler {
namespace {

struct OpenRange {
  int64_t begin_ns;
  TextId name;
};

// A fixed array: a std::vector would need a destructor, which must not run before the thread's
// last range. Deeper ranges are counted, so that pops still match, and not recorded.
constexpr uint32_t kMostOpen = 256;
thread_local OpenRange t_open[kMostOpen];
thread_local uint32_t t_depth = 0;

}  // namespace

void push_range(std::string_view name) {
  step_marker().see(name);
  const uint32_t depth = t_depth++;
  if (depth >= kMostOpen) return;
  const bool wanted = is_recording();
  // The time comes first: a name is of the window that was prepared before its range began.
  t_open[depth].begin_ns = wanted ? monotonic_ns() : 0;
  t_open[depth].name = wanted ? intern_name(name) : TextId();
}

void pop_range() {
  if (t_depth == 0) return;
  const uint32_t depth = --t_depth;
  if (depth >= kMostOpen || t_open[depth].begin_ns == 0) return;
  Record record;
  record.begin_ns = t_open[depth].begin_ns;
  record.of.op.end_ns = monotonic_ns();
  record.name = t_open[depth].name;
  record.kind = RecordKind::kAnnotation;
  submit(record);
}

}  // namespace redline::profiler
