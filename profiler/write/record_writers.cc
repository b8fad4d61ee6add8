#include <cmath>

#include "profiler/write/event_output.h"

namespace redline::profiler {
namespace {

std::string_view without_quotes(std::string_view quoted) {
  return quoted.substr(1, quoted.size() - 2);
}

}  // namespace

void write_slice(EventOutput& out, const Record& record, uint64_t tid) {
  auto& args =
      out.file().begin_slice({.category = without_quotes(out.text(record.of.slice.category)),
                              .quoted_name = out.text(record.name),
                              .tid = tid,
                              .begin_ns = out.unix_ns(record.begin_ns),
                              .end_ns = out.unix_ns(record.of.slice.end_ns)});
  if (record.of.slice.args) args.text(out.members(record.of.slice.args));
  out.file().end_args();
  out.count_event();
}

void write_mark(EventOutput& out, const Record& record, uint64_t tid) {
  auto& text = out.begin_event("\"i\", \"s\": \"t\", \"cat\": ", out.text(record.name), tid,
                               record.begin_ns, out.text(record.of.slice.category));
  if (record.of.slice.args) text.text(out.members(record.of.slice.args));
  out.end_event(text);
}

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
  // Kineto writes "finished", too: it says whether the event has an end.
  text.literal(", \"finished\": false");
  out.end_event(text);
}

void write_frame(EventOutput& out, const Record& record, uint64_t tid) {
  const FrameFields& frame = record.of.frame;
  auto& args = out.file().begin_slice({.category = "python_function",
                                       .quoted_name = out.text(record.name),
                                       .tid = tid,
                                       .begin_ns = out.unix_ns(record.begin_ns),
                                       .end_ns = out.unix_ns(frame.end_ns)});
  args.literal("\"Python parent id\": ");
  if (frame.parent == 0) {
    args.literal("null");
  } else {
    args.integer(frame.parent);
  }
  args.literal(", \"Python id\": ");
  args.integer(frame.id);
  if (frame.args) {
    args.literal(", ");
    args.text(out.members(frame.args));
  }
  out.file().end_args();
  out.count_event();
}

void write_counter(EventOutput& out, const Record& record) {
  if (!std::isfinite(record.of.counter.value)) return;  // JSON cannot hold it
  auto& text =
      out.begin_event("\"C\", \"cat\": \"counter\"", out.text(record.name), 0, record.begin_ns);
  text.text(record.of.counter.series ? out.text(record.of.counter.series) : "\"value\"");
  text.literal(": ");
  text.number(record.of.counter.value);
  out.end_event(text);
}

}  // namespace redline::profiler
