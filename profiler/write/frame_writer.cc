// Calls of Python functions: "python_function" slices.
#include "profiler/write/record_writers.h"

namespace redline::profiler {

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
  if (frame.module != UINT32_MAX) {
    args.literal(", \"Python module id\": ");
    args.integer(frame.module);
  }
  out.file().end_args();
  out.count_event();
}

}  // namespace redline::profiler
