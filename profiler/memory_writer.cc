// Kineto's instants of memory.
#include "profiler/record_writers.h"

namespace redline::profiler {

void write_memory(EventOutput& out, const Record& record, uint64_t tid) {
  const MemoryFields& memory = record.of.memory;
  auto& text = out.file().begin_event();
  text.literal("{\"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": ");
  const bool is_out_of_memory = record.kind == RecordKind::kOutOfMemory;
  text.text(is_out_of_memory ? "\"[OutOfMemory]\"" : "\"[memory]\"");
  text.literal(", \"pid\": ");
  text.integer(out.pid());
  text.literal(", \"tid\": ");
  text.integer(tid);
  text.literal(", \"ts\": ");
  out.file().timestamp(out.unix_ns(record.begin_ns));
  text.literal(", \"args\": {\"Total Reserved\": ");
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
  text.literal(", \"Ev Idx\": ");
  text.integer(out.events());
  text.literal("}}");
  out.file().end_event();
  out.count_event();
}

}  // namespace redline::profiler
