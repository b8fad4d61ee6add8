#include "profiler/write/nvtx_writer.h"

#include <string>

namespace redline::profiler {
namespace {

/// Limits the ranges that a program starts and never ends, which would fill the memory.
constexpr size_t kMostOpenRanges = size_t{1} << 16;

}  // namespace

void NvtxWriter::add(const Record& record, uint64_t tid) {
  switch (record.of.nvtx.phase) {
    case NvtxPhase::kSlice:
      return write_slice(record, tid);
    case NvtxPhase::kMark:
      return write_event("\"i\", \"s\": \"t\", \"cat\": \"user_annotation\"", record, tid);
    case NvtxPhase::kStart:
      return start(record, tid);
    case NvtxPhase::kEnd:
      return end(record.of.nvtx.range, {record.begin_ns, tid});
  }
}

void NvtxWriter::write_slice(const Record& record, uint64_t tid, std::string_view more_args) {
  auto& args = out_.file().begin_slice({.category = "user_annotation",
                                        .quoted_name = out_.text(record.name),
                                        .tid = tid,
                                        .begin_ns = out_.unix_ns(record.begin_ns),
                                        .end_ns = out_.unix_ns(record.of.nvtx.end_ns)});
  write_args(args, record);
  args.text(more_args);
  out_.file().end_args();
  out_.count_event();
}

void NvtxWriter::start(const Record& record, uint64_t tid) {
  write_event("\"b\", \"cat\": \"nvtx\"", record, tid);
  for (const auto* ends : {&early_ends_, &earlier_ends_}) {
    const auto early = ends->find(record.of.nvtx.range);
    if (early != ends->end()) return write_end(record, early->second);
  }
  if (open_.size() < kMostOpenRanges) open_.emplace(record.of.nvtx.range, Start{record, tid});
}

size_t NvtxWriter::end_open(int64_t end_ns) {
  for (const auto& [range, start] : open_) {
    write_end(start.record, {end_ns, start.tid}, kUnfinished);
  }
  const size_t count = open_.size();
  open_.clear();
  return count;
}

/// Leaves out a range whose begin is not in the window, as is done for nested ranges.
void NvtxWriter::end(uint64_t range, const End& end) {
  const auto start = open_.find(range);
  if (start == open_.end()) {
    early_ends_.emplace(range, end);
  } else {
    write_end(start->second.record, end);
    open_.erase(start);
  }
}

void NvtxWriter::write_end(const Record& start, const End& end, std::string_view more_args) {
  Record ended = start;
  ended.begin_ns = end.time_ns;
  write_event("\"e\", \"cat\": \"nvtx\"", ended, end.tid, more_args);
}

void NvtxWriter::write_event(std::string_view head, const Record& record, uint64_t tid,
                             std::string_view more_args) {
  const uint64_t range = record.of.nvtx.range;
  const std::string id = range != 0 ? ", \"id\": " + std::to_string(range) : "";
  auto& text = out_.begin_event(head, out_.text(record.name), tid, record.begin_ns, id);
  write_args(text, record);
  text.text(more_args);
  out_.end_event(text);
}

void NvtxWriter::write_args(trace::TextBuffer& text, const Record& record) {
  const NvtxFields& fields = record.of.nvtx;
  text.text(fields.args ? out_.members(fields.args) : "\"Domain\": \"(name not kept)\"");
  if (fields.payload_form == PayloadForm::kNone) return;
  text.literal(", \"Payload\": ");
  switch (fields.payload_form) {
    case PayloadForm::kNone:
      return;
    case PayloadForm::kUnsigned:
      return text.integer(fields.payload.number);
    case PayloadForm::kSigned:
      return text.integer(fields.payload.signed_number);
    case PayloadForm::kDouble:
      return text.number(fields.payload.real);
  }
}

}  // namespace redline::profiler
