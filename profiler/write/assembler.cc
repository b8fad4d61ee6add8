#include "profiler/write/assembler.h"

#include <unistd.h>

#include <fstream>
#include <string>

#include "profiler/c_api.h"

namespace redline::profiler {
namespace {

std::string process_name() {
  std::ifstream file("/proc/self/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

trace::TraceHeader header_of(const AssemblerOptions& options) {
  return {.base_ns = trace::quarter_base_ns(options.begin_ns + options.unix_offset_ns),
          .pid = getpid(),
          .entries = options.header,
          .max_bytes = options.max_bytes,
          .pace = options.pace,
          .is_private = options.is_private};
}

/// The members of a JSON object, with a comma before them; "" if it has none.
std::string added_members(const std::string& object) {
  const size_t begin = object.find('{') + 1;
  const std::string members = object.substr(begin, object.rfind('}') - begin);
  return members.find('"') == std::string::npos ? "" : ", " + members;
}

}  // namespace

Assembler::Assembler(const TextTable& texts, const AssemblerOptions& options)
    : begin_ns_(options.begin_ns),
      out_(texts, options.spool_path, header_of(options), options.unix_offset_ns) {}

void Assembler::add(const Record& record, uint64_t tid) {
  switch (record.kind) {
    case RecordKind::kOperator:
    case RecordKind::kAnnotation:
    case RecordKind::kStep:
      return operators_.add(record, tid);
    case RecordKind::kSlice:
      return write_slice(out_, record, tid);
    case RecordKind::kMark:
      return write_mark(out_, record, tid);
    case RecordKind::kMemory:
    case RecordKind::kOutOfMemory:
      return write_memory(out_, record, tid);
    case RecordKind::kCounter:
      ++samples_;
      return write_counter(out_, record);
    case RecordKind::kFrame:
      return write_frame(out_, record, tid);
    case RecordKind::kStack:
      return operators_.add_stack(record, tid);
    case RecordKind::kNvtx:
      return nvtx_.add(record, tid);
    case RecordKind::kNccl:
      return write_nccl(out_, record, tid);
    case RecordKind::kKernel:
    case RecordKind::kCopy:
    case RecordKind::kMemset:
    case RecordKind::kSynchronization:
    case RecordKind::kGpuAnnotation:
    case RecordKind::kGpuOverhead:
    case RecordKind::kCudaCall:
    case RecordKind::kLaunchArrow:
    case RecordKind::kGpuMemory:
    case RecordKind::kMigration:
    case RecordKind::kStreamName:
      return gpu_.add(record, tid);
  }
}

void Assembler::add_unfinished(Record record, uint64_t tid, int64_t end_ns) {
  switch (record.kind) {
    case RecordKind::kOperator:
    case RecordKind::kAnnotation:
    case RecordKind::kStep:
      record.of.op.end_ns = end_ns;
      return operators_.add_unfinished(record, tid);
    case RecordKind::kNvtx:
      record.of.nvtx.end_ns = end_ns;
      return nvtx_.add_unfinished(record, tid);
    default:
      return;  // all other kinds are recorded when they have ended
  }
}

void Assembler::finish(int64_t end_ns, const std::vector<Thread>& threads,
                       const std::vector<trace::Entry>& entries) {
  const int64_t begin = out_.unix_ns(begin_ns_);
  out_.file().process(process_name(), begin);
  for (const auto& thread : threads) out_.file().thread(thread.tid, thread.name, begin);
  gpu_.finish(begin);
  out_.file().span("Redline (0)", begin, out_.unix_ns(end_ns));
  out_.file().complete(out_.unix_ns(end_ns), entries);
}

std::vector<trace::Entry> closing_entries(const TraceSummary& summary,
                                          const std::vector<trace::Entry>& entries) {
  std::string about = std::string("{\"version\": \"") + redline_version() +
                      "\", \"events\": " + std::to_string(summary.events) +
                      ", \"dropped\": " + std::to_string(summary.dropped) +
                      ", \"dropped_names\": " + std::to_string(summary.dropped_names) +
                      ", \"threads\": " + std::to_string(summary.threads) +
                      ", \"unfinished\": " + std::to_string(summary.unfinished);
  std::vector<trace::Entry> result;
  for (const auto& [key, json] : entries) {
    if (key == kOwnEntry) {
      about += added_members(json);
    } else {
      result.emplace_back(key, json);
    }
  }
  result.emplace_back(kOwnEntry, about + "}");
  return result;
}

}  // namespace redline::profiler
