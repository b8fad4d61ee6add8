// Counter tracks: "C" events, which are of the process.
#include <charconv>
#include <cmath>

#include "profiler/record_writers.h"

namespace redline::profiler {

void write_counter(EventOutput& out, const Record& record) {
  if (!std::isfinite(record.of.counter.value)) return;  // JSON has no word for it
  auto& text = out.file().begin_event();
  text.literal("{\"ph\": \"C\", \"cat\": \"counter\", \"name\": ");
  text.text(out.text(record.name));
  text.literal(", \"pid\": ");
  text.integer(out.pid());
  text.literal(", \"tid\": 0, \"ts\": ");
  out.file().timestamp(out.unix_ns(record.begin_ns));
  text.literal(", \"args\": {");
  text.text(record.of.counter.series ? out.text(record.of.counter.series) : "\"value\"");
  text.literal(": ");
  char value[32];
  const auto end = std::to_chars(value, value + sizeof(value), record.of.counter.value).ptr;
  text.text({value, static_cast<size_t>(end - value)});
  text.literal("}}");
  out.file().end_event();
  out.count_event();
}

}  // namespace redline::profiler
