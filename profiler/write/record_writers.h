// How each kind of record looks in the trace, one file a kind; operators, which have a memory of
// their own, stand in operator_writer.h.
#pragma once

#include <cstdint>

#include "profiler/log/record.h"
#include "profiler/write/event_output.h"

namespace redline::profiler {

void write_slice(EventOutput& out, const Record& record, uint64_t tid);
void write_mark(EventOutput& out, const Record& record, uint64_t tid);
void write_memory(EventOutput& out, const Record& record, uint64_t tid);
void write_frame(EventOutput& out, const Record& record, uint64_t tid);
void write_counter(EventOutput& out, const Record& record);
void write_nccl(EventOutput& out, const Record& record, uint64_t tid);

}  // namespace redline::profiler
