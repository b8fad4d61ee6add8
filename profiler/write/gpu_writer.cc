#include "profiler/write/gpu_writer.h"

#include <string>

#include "trace/emit/text_buffer.h"

namespace redline::profiler {
namespace {

constexpr int64_t kOverheadProcess = -1;
// Kineto's sort indexes for processes: GPUs come below the threads of the job.
constexpr int64_t kFirstGpuPlace = 5'000'000;
constexpr int64_t kOverheadPlace = 0x100000A;

std::string_view category_of(RecordKind kind) {
  switch (kind) {
    case RecordKind::kKernel:
      return "kernel";
    case RecordKind::kCopy:
      return "gpu_memcpy";
    case RecordKind::kMemset:
      return "gpu_memset";
    case RecordKind::kSynchronization:
      return "cuda_sync";
    case RecordKind::kGpuMemory:
    case RecordKind::kMigration:
      return "gpu_memory";
    default:
      return "gpu_user_annotation";
  }
}

/// Makes an annotation one nanosecond longer at both ends, so that it encloses its work.
Record widened(Record annotation) {
  annotation.begin_ns -= 1;
  annotation.of.cuda.end_ns += 1;
  return annotation;
}

/// Writes bytes and bandwidth. GB/s are the same as bytes per nanosecond.
void write_bytes(trace::TextBuffer& args, const Record& record) {
  args.literal(", \"bytes\": ");
  args.integer(record.of.cuda.amount);
  const int64_t duration_ns = record.of.cuda.end_ns - record.begin_ns;
  if (duration_ns <= 0) return;
  args.literal(", \"memory bandwidth (GB/s)\": ");
  args.number(static_cast<double>(record.of.cuda.amount) / static_cast<double>(duration_ns));
}

}  // namespace

void GpuWriter::add(const Record& record, uint64_t tid) {
  switch (record.kind) {
    case RecordKind::kCudaCall:
      return write_call(record, tid);
    case RecordKind::kLaunchArrow:
      return draw_arrow(record);
    case RecordKind::kGpuOverhead:
      return write_overhead(record);
    case RecordKind::kGpuAnnotation:
      return write_work(widened(record));
    case RecordKind::kGpuMemory:
      return write_instant(record);
    case RecordKind::kStreamName:
      names_[{record.device_index, record.of.cuda.lane}] = out_.text(record.name);
      return;
    default:
      return write_work(record);
  }
}

trace::TextBuffer& GpuWriter::begin_slice(const Record& record, std::string_view category,
                                          int64_t process, uint64_t lane) {
  return out_.file().begin_slice({.category = category,
                                  .quoted_name = out_.text(record.name),
                                  .tid = lane,
                                  .begin_ns = out_.unix_ns(record.begin_ns),
                                  .end_ns = out_.unix_ns(record.of.cuda.end_ns),
                                  .pid = process});
}

void GpuWriter::end_slice(trace::TextBuffer& text) { out_.end_event(text); }

void GpuWriter::write_work(const Record& record) {
  const CudaFields& cuda = record.of.cuda;
  rows_.insert({record.device_index, cuda.lane});
  auto& text = begin_slice(record, category_of(record.kind), record.device_index, cuda.lane);
  if (cuda.external != 0) {
    text.literal("\"External id\": ");
    text.integer(cuda.external);
  }
  if (record.kind != RecordKind::kGpuAnnotation) {
    if (cuda.external != 0) text.literal(", ");
    text.text(cuda.args ? out_.members(cuda.args) : "\"stream\": " + std::to_string(cuda.lane));
    if (cuda.correlation != 0 || record.kind != RecordKind::kMigration) {
      text.literal(", \"correlation\": ");
      text.integer(cuda.correlation);
    }
  }
  if (record.kind == RecordKind::kKernel && cuda.amount != 0) {
    text.literal(", \"graph node id\": ");
    text.integer(cuda.amount);
  }
  const bool is_migration = record.kind == RecordKind::kMigration && cuda.amount != 0;
  if (record.kind == RecordKind::kCopy || record.kind == RecordKind::kMemset || is_migration) {
    write_bytes(text, record);
  }
  end_slice(text);
}

void GpuWriter::write_instant(const Record& record) {
  const CudaFields& cuda = record.of.cuda;
  rows_.insert({record.device_index, cuda.lane});
  const std::string category = "\"" + std::string(category_of(record.kind)) + "\"";
  auto& text = out_.file().begin_event("\"i\", \"s\": \"t\", \"cat\": ", category,
                                       {.quoted_name = out_.text(record.name),
                                        .tid = cuda.lane,
                                        .time_ns = out_.unix_ns(record.begin_ns),
                                        .pid = record.device_index});
  if (cuda.external != 0) {
    text.literal("\"External id\": ");
    text.integer(cuda.external);
    text.literal(", ");
  }
  text.text(cuda.args ? out_.members(cuda.args) : "\"stream\": " + std::to_string(cuda.lane));
  text.literal(", \"correlation\": ");
  text.integer(cuda.correlation);
  end_slice(text);
}

void GpuWriter::write_call(const Record& record, uint64_t tid) {
  const CudaFields& cuda = record.of.cuda;
  const bool is_driver = record.device_type != 0;
  auto& text = begin_slice(record, is_driver ? "cuda_driver" : "cuda_runtime", out_.pid(), tid);
  if (cuda.external != 0) {
    text.literal("\"External id\": ");
    text.integer(cuda.external);
    text.literal(", ");
  }
  text.literal("\"cbid\": ");
  text.integer(cuda.amount);
  text.literal(", \"correlation\": ");
  text.integer(cuda.correlation);
  end_slice(text);
}

void GpuWriter::write_overhead(const Record& record) {
  rows_.insert({kOverheadProcess, 0});
  auto& text = begin_slice(record, "overhead", kOverheadProcess, 0);
  end_slice(text);
}

void GpuWriter::draw_arrow(const Record& record) {
  const CudaFields& cuda = record.of.cuda;
  out_.file().flow_start("ac2g", cuda.correlation, cuda.lane, out_.unix_ns(record.begin_ns));
  out_.file().flow_end("ac2g", cuda.correlation, cuda.amount, out_.unix_ns(cuda.end_ns),
                       record.device_index);
}

void GpuWriter::write_row(const Row& row, std::string_view what, std::string_view value,
                          int64_t begin_ns) {
  auto& text = out_.file().begin_event(
      "\"M\", \"cat\": \"__metadata\"", {},
      {.quoted_name = what, .tid = row.lane, .time_ns = begin_ns, .pid = row.process});
  text.text(value);
  out_.file().end_args();
}

void GpuWriter::finish(int64_t begin_ns) {
  int64_t last_process = kOverheadProcess - 1;
  for (const Row& row : rows_) {
    const bool is_overhead = row.process == kOverheadProcess;
    const std::string gpu = std::to_string(row.process);
    if (row.process != last_process) {
      last_process = row.process;
      const int64_t place = is_overhead ? kOverheadPlace : kFirstGpuPlace + row.process;
      const Row process{row.process, 0};
      write_row(process, "\"process_name\"",
                is_overhead ? "\"name\": \"CUPTI Overhead\"" : "\"name\": \"python\"", begin_ns);
      write_row(process, "\"process_labels\"",
                is_overhead ? "\"labels\": \"\"" : "\"labels\": \"GPU " + gpu + "\"", begin_ns);
      write_row(process, "\"process_sort_index\"", "\"sort_index\": " + std::to_string(place),
                begin_ns);
    }
    if (is_overhead) continue;
    const std::string lane = std::to_string(row.lane);
    // Kineto's names of streams end in a space.
    std::string name =
        row.lane == kDeviceLane ? "\"Device " + gpu + "\"" : "\"stream " + lane + " \"";
    // Appends the program's name for the stream. Both texts have quotes.
    if (const auto own = names_.find(row); own != names_.end()) {
      name.replace(name.size() - 1, 1, own->second, 1);
    }
    write_row(row, "\"thread_name\"", "\"name\": " + name, begin_ns);
    write_row(row, "\"thread_sort_index\"", "\"sort_index\": " + lane, begin_ns);
  }
}

}  // namespace redline::profiler
