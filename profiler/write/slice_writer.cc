// Slices and marks: "X" and "i" events of any category.
#include "profiler/write/record_writers.h"

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

}  // namespace redline::profiler
