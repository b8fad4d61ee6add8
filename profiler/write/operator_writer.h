// Writes operators and annotations as slices, with an arrow from each forward operator to its
// backward operator. The memory for finding these pairs does not grow.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profiler/log/record.h"
#include "profiler/write/event_output.h"
#include "profiler/write/native_stack.h"

namespace redline::profiler {

struct ForwardOperator {
  int64_t sequence_number = -1;
  uint32_t autograd_thread = 0;  ///< LibTorch's number of the thread
  uint64_t tid = 0;
  int64_t begin_ns = 0;
};

/// Remembers forward operators by thread and sequence number. If nested operators have the same
/// number, the one that began last made the autograd node; Kineto decides likewise. Numbers only
/// grow, so an older operator in a slot is hardly needed any more and is overwritten. If it is
/// needed after all, its arrow is missing.
class ForwardOperators {
 public:
  void add(const ForwardOperator& forward);
  [[nodiscard]] std::optional<ForwardOperator> find(uint32_t autograd_thread,
                                                    int64_t sequence_number) const;

 private:
  [[nodiscard]] static size_t slot(uint32_t autograd_thread, int64_t sequence_number);

  static constexpr size_t kSlots = size_t{1} << 16;
  std::vector<ForwardOperator> slots_ = std::vector<ForwardOperator>(kSlots);
};

class OperatorWriter {
 public:
  explicit OperatorWriter(EventOutput& out) : out_(out) {}

  void add(const Record& record, uint64_t tid);
  /// An operator that was still open when the window ended. It is marked as Kineto marks it, and
  /// never counts as a step, whatever its name is.
  void add_unfinished(const Record& record, uint64_t tid);
  /// The C++ stack of the thread's next operator.
  void add_stack(const Record& record, uint64_t tid) { stack_of_next_[tid] = record; }
  /// To be called after each round over all threads. Draws the arrows whose forward operator was
  /// read later than the backward one.
  void end_round();

 private:
  struct Pending {
    Record record;
    uint64_t tid;
  };

  [[nodiscard]] uint64_t external_id(const Record& record);
  /// Valid until the next call.
  [[nodiscard]] std::string_view quoted_name(const Record& record);
  void write_slice(const Record& record, uint64_t tid);
  void write_slice(std::string_view quoted_name, const Record& record, uint64_t tid,
                   std::string_view more_args);
  [[nodiscard]] Record with_node_of_child(const Record& record, uint64_t tid);
  void write_args(trace::TextBuffer& args, const Record& record, uint64_t tid);
  void write_stack(trace::TextBuffer& args, const Record& record, uint64_t tid);
  [[nodiscard]] bool draw_flow(const Record& backward, uint64_t tid);

  EventOutput& out_;
  ForwardOperators forwards_;
  std::vector<Pending> pending_;
  std::unordered_map<uint64_t, Record> last_backward_;  ///< by tid
  std::unordered_map<uint64_t, Record> stack_of_next_;  ///< by tid
  NativeStacks stacks_;
  uint64_t last_flow_ = 0;
  std::string made_name_;
  bool has_own_ids_ = false;
};

}  // namespace redline::profiler
