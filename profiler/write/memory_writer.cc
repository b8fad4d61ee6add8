// Kineto's instants of memory.
#include "profiler/write/record_writers.h"

namespace redline::profiler {

void write_memory(EventOutput& out, const Record& record, uint64_t tid) {
  const MemoryFields& memory = record.of.memory;
  const bool is_out_of_memory = record.kind == RecordKind::kOutOfMemory;
  auto& text = out.begin_event("\"i\", \"cat\": \"cpu_instant_event\", \"s\": \"t\"",
                               is_out_of_memory ? "\"[OutOfMemory]\"" : "\"[memory]\"", tid,
                               record.begin_ns);
  text.literal("\"Total Reserved\": ");
  text.integer(memory.total_reserved);
  text.literal(", \"Total Allocated\": ");
  text.integer(memory.total_allocated);
  text.literal(", \"Bytes\": ");
  text.integer(memory.bytes);
  text.literal(", \"Device Id\": ");
  text.integer(record.device_index);
  text.literal(", \"Device Type\": ");
  text.integer(record.device_type);
  if (!is_out_of_memory) {
    text.literal(", \"Addr\": ");
    text.integer(memory.address);
  }
  // "finished" is Kineto's own: whether its event has an end.
  text.literal(", \"finished\": false");
  out.end_event(text);
}

}  // namespace redline::profiler
