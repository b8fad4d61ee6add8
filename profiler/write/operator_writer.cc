#include "profiler/write/operator_writer.h"

#include <string>

namespace redline::profiler {
namespace {

constexpr size_t kMostPending = 4096;
constexpr uint64_t kOtherIds = uint64_t{1} << 30;  ///< for events that LibTorch does not number

}  // namespace

void OperatorWriter::add(const Record& record, uint64_t tid) {
  if (record.of.op.sequence_number < 0) return write_slice(with_node_of_child(record, tid), tid);
  write_slice(record, tid);
  if (record.autograd == Autograd::kForward) {
    forwards_.add(
        {record.of.op.sequence_number, record.of.op.autograd_thread, tid, record.begin_ns});
    return;
  }
  last_backward_[tid] = record;
  if (!draw_flow(record, tid) && pending_.size() < kMostPending) pending_.push_back({record, tid});
}

void OperatorWriter::end_round() {
  for (const auto& [record, tid] : pending_) {
    // If it is not found even now, its forward operator ran before the window.
    static_cast<void>(draw_flow(record, tid));
  }
  pending_.clear();
}

/// The slice of the autograd engine around a backward function gets that function's number and
/// thread, as in torch.profiler. LibTorch does not give them for the engine's slice.
Record OperatorWriter::with_node_of_child(const Record& record, uint64_t tid) {
  Record changed = record;
  if (record.kind != RecordKind::kOperator) return changed;
  if (!out_.text(record.name).starts_with("\"autograd::engine::evaluate_function")) return changed;
  const auto child = last_backward_.find(tid);
  if (child == last_backward_.end() || child->second.begin_ns < record.begin_ns) return changed;
  changed.of.op.sequence_number = child->second.of.op.sequence_number;
  changed.of.op.autograd_thread = child->second.of.op.autograd_thread;
  changed.autograd = Autograd::kBackward;
  return changed;
}

bool OperatorWriter::draw_flow(const Record& backward, uint64_t tid) {
  const auto forward =
      forwards_.find(backward.of.op.autograd_thread, backward.of.op.sequence_number);
  if (!forward) return false;
  ++last_flow_;
  out_.file().flow_start("fwdbwd", last_flow_, forward->tid, out_.unix_ns(forward->begin_ns));
  out_.file().flow_end("fwdbwd", last_flow_, tid, out_.unix_ns(backward.begin_ns));
  return true;
}

/// The "External id" of an operator. LibTorch numbers operators only if their GPU work is recorded,
/// which then has the same id.
uint64_t OperatorWriter::external_id(const Record& record) {
  const bool has_own = record.kind != RecordKind::kStep && record.of.op.function_id != 0;
  has_own_ids_ = has_own_ids_ || has_own;
  if (has_own) return static_cast<uint32_t>(record.of.op.function_id);
  return out_.events() + 1 + (has_own_ids_ ? kOtherIds : 0);
}

std::string_view OperatorWriter::quoted_name(const Record& record) {
  if (record.kind != RecordKind::kStep) return out_.text(record.name);
  made_name_ = "\"ProfilerStep#" + std::to_string(record.of.op.function_id) + "\"";
  return made_name_;
}

void OperatorWriter::add_unfinished(const Record& record, uint64_t tid) {
  std::string_view name = quoted_name(record);
  if (name.starts_with("\"ProfilerStep#")) {
    name = made_name_ = "\"unfinished " + std::string(name.substr(1));
  }
  write_slice(name, record, tid, ", \"finished\": false");
}

void OperatorWriter::write_slice(const Record& record, uint64_t tid) {
  write_slice(quoted_name(record), record, tid, "");
}

void OperatorWriter::write_slice(std::string_view quoted_name, const Record& record, uint64_t tid,
                                 std::string_view more_args) {
  auto& args = out_.file().begin_slice(
      {.category = record.kind == RecordKind::kOperator ? "cpu_op" : "user_annotation",
       .quoted_name = quoted_name,
       .tid = tid,
       .begin_ns = out_.unix_ns(record.begin_ns),
       .end_ns = out_.unix_ns(record.of.op.end_ns)});
  write_args(args, record, tid);
  args.text(more_args);
  out_.file().end_args();
  out_.count_event();
}

/// Writes the stack if it is that of this operator. It is another's if the record of that operator
/// was dropped for lack of memory.
void OperatorWriter::write_stack(trace::TextBuffer& args, const Record& record, uint64_t tid) {
  if (stack_of_next_.empty()) return;
  const auto stack = stack_of_next_.find(tid);
  if (stack == stack_of_next_.end()) return;
  if (stack->second.begin_ns != record.begin_ns || !stack->second.of.op.args) return;
  args.literal(", \"Call stack\": ");
  args.text(stacks_.describe(out_.text(stack->second.of.op.args)));
}

void OperatorWriter::write_args(trace::TextBuffer& args, const Record& record, uint64_t tid) {
  args.literal("\"External id\": ");
  args.integer(external_id(record));
  if (record.of.op.sequence_number >= 0) {
    const bool is_forward = record.autograd == Autograd::kForward;
    args.literal(", \"Sequence number\": ");
    args.integer(record.of.op.sequence_number);
    args.literal(", \"Fwd thread id\": ");
    args.integer(is_forward ? 0 : record.of.op.autograd_thread);
  }
  args.literal(", \"Record function id\": ");
  args.integer(record.kind == RecordKind::kStep ? 0 : record.of.op.function_id);
  if (record.of.op.args) {
    args.literal(", ");
    args.text(out_.members(record.of.op.args));
  }
  write_stack(args, record, tid);
}

size_t ForwardOperators::slot(uint32_t autograd_thread, int64_t sequence_number) {
  return (static_cast<size_t>(sequence_number) + autograd_thread * size_t{0x9E3779B1}) % kSlots;
}

void ForwardOperators::add(const ForwardOperator& forward) {
  auto& known = slots_[slot(forward.autograd_thread, forward.sequence_number)];
  const bool same = known.sequence_number == forward.sequence_number &&
                    known.autograd_thread == forward.autograd_thread;
  if (!same || known.begin_ns <= forward.begin_ns) known = forward;
}

std::optional<ForwardOperator> ForwardOperators::find(uint32_t autograd_thread,
                                                      int64_t sequence_number) const {
  const auto& known = slots_[slot(autograd_thread, sequence_number)];
  if (known.sequence_number != sequence_number || known.autograd_thread != autograd_thread) {
    return std::nullopt;
  }
  return known;
}

}  // namespace redline::profiler
