// Counter tracks: "C" events, which are of the process.
#include <cmath>

#include "profiler/write/record_writers.h"

namespace redline::profiler {

void write_counter(EventOutput& out, const Record& record) {
  if (!std::isfinite(record.of.counter.value)) return;  // nothing that could be drawn
  auto& text =
      out.begin_event("\"C\", \"cat\": \"counter\"", out.text(record.name), 0, record.begin_ns);
  text.text(record.of.counter.series ? out.text(record.of.counter.series) : "\"value\"");
  text.literal(": ");
  text.number(record.of.counter.value);
  out.end_event(text);
}

}  // namespace redline::profiler
