#include "profiler/assembler.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace redline::profiler {
namespace {

constexpr size_t kMostPending = 4096;

std::string process_name() {
  std::ifstream file("/proc/self/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

trace::TraceHeader header_of(const AssemblerOptions& options) {
  return {.base_ns = trace::quarter_base_ns(options.begin_ns + options.unix_offset_ns),
          .pid = getpid(),
          .entries = options.header};
}

}  // namespace

Assembler::Assembler(const TextTable& texts, const AssemblerOptions& options)
    : texts_(texts),
      begin_ns_(options.begin_ns),
      unix_offset_ns_(options.unix_offset_ns),
      writer_(options.spool_path, header_of(options)) {}

std::string_view Assembler::text(TextId id) {
  if (id && id.value >= known_texts_.size()) texts_.update(known_texts_);
  if (!id || id.value >= known_texts_.size()) return "\"(name not kept)\"";
  return known_texts_[id.value];
}

void Assembler::add(const Record& record, uint64_t tid) {
  if (record.sequence_number < 0) return write_slice(with_node_of_child(record, tid), tid);
  write_slice(record, tid);
  if (record.autograd == Autograd::kForward) {
    forwards_.add({record.sequence_number, record.autograd_thread, tid, record.begin_ns});
    return;
  }
  last_backward_[tid] = record;
  if (!draw_flow(record, tid) && pending_.size() < kMostPending) pending_.push_back({record, tid});
}

void Assembler::end_round() {
  for (const auto& [record, tid] : pending_) {
    // Not found even now: its forward operator ran before the window.
    static_cast<void>(draw_flow(record, tid));
  }
  pending_.clear();
}

/// The engine's slice around a backward function gets that function's number and thread, as
/// torch.profiler has it; LibTorch itself does not tell them.
Record Assembler::with_node_of_child(const Record& record, uint64_t tid) {
  Record changed = record;
  if (!text(record.name).starts_with("\"autograd::engine::evaluate_function")) return changed;
  const auto child = last_backward_.find(tid);
  if (child == last_backward_.end() || child->second.begin_ns < record.begin_ns) return changed;
  changed.sequence_number = child->second.sequence_number;
  changed.autograd_thread = child->second.autograd_thread;
  changed.autograd = Autograd::kBackward;
  return changed;
}

bool Assembler::draw_flow(const Record& backward, uint64_t tid) {
  const auto forward = forwards_.find(backward.autograd_thread, backward.sequence_number);
  if (!forward) return false;
  ++last_flow_;
  writer_.flow_start("fwdbwd", last_flow_, forward->tid, unix_ns(forward->begin_ns));
  writer_.flow_end("fwdbwd", last_flow_, tid, unix_ns(backward.begin_ns));
  return true;
}

void Assembler::write_slice(const Record& record, uint64_t tid) {
  auto& args = writer_.begin_slice(
      {.category = record.kind == RecordKind::kOperator ? "cpu_op" : "user_annotation",
       .quoted_name = text(record.name),
       .tid = tid,
       .begin_ns = unix_ns(record.begin_ns),
       .end_ns = unix_ns(record.end_ns)});
  write_args(args, record);
  writer_.end_slice();
  ++written_;
}

void Assembler::write_args(trace::TextBuffer& args, const Record& record) {
  args.literal("\"External id\": ");
  args.integer(written_ + 1);
  if (record.sequence_number >= 0) {
    const bool is_forward = record.autograd == Autograd::kForward;
    args.literal(", \"Sequence number\": ");
    args.integer(record.sequence_number);
    args.literal(", \"Fwd thread id\": ");
    args.integer(is_forward ? 0 : record.autograd_thread);
  }
  args.literal(", \"Record function id\": ");
  args.integer(record.function_id);
  if (record.args) {
    args.literal(", ");
    args.text(text(record.args));
  }
  args.literal(", \"Ev Idx\": ");
  args.integer(written_);
}

void Assembler::finish(int64_t end_ns, const std::vector<Thread>& threads,
                       const std::vector<trace::Entry>& entries) {
  const int64_t begin = unix_ns(begin_ns_);
  writer_.process(process_name(), begin);
  for (const auto& thread : threads) writer_.thread(thread.tid, thread.name, begin);
  writer_.span("Redline (0)", begin, unix_ns(end_ns));
  writer_.complete(unix_ns(end_ns), entries);
}

}  // namespace redline::profiler
