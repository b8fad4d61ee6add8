#include "trace/read/step_log_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/file.h"
#include "trace/emit/step_log_blocks.h"
#include "trace/read/rank_files.h"

namespace redline::trace {
namespace {

void take_block(StepLog& log, LogBlock block) {
  if (block.owner) static_cast<LogOwner&>(log) = std::move(*block.owner);
  append_in_order(log.steps, block.steps);
  log.memory.insert(log.memory.end(), block.memory.begin(), block.memory.end());
  log.cores.insert(log.cores.end(), block.cores.begin(), block.cores.end());
  for (LogMark& mark : block.marks) {
    if (mark.kind == LogMarkKind::kBatches) {
      log.batches = read_batches_in(mark.text);
    } else {
      log.marks.push_back(std::move(mark));
    }
  }
  log.thinned_before_ns = std::max(log.thinned_before_ns, block.thinned_before_ns);
  log.lost_steps = std::max(log.lost_steps, block.lost_steps);
  log.lost_marks = std::max(log.lost_marks, block.lost_marks);
  if (block.sign_ns < log.last_sign_ns) return;
  log.last_sign_ns = block.sign_ns;
  log.last_part = block.part;
  log.last_part_since_ns = block.part_since_ns;
  log.ended = block.ended;
  log.exit_status = block.exit_status;
}

// An evaluation before the training is no part of the job's steps.
void begin_with_training(StepLog& log) {
  const int64_t first = drop_evaluation(log.steps, log.marks);
  std::erase_if(log.marks, [](const LogMark& mark) { return mark.kind == LogMarkKind::kTraining; });
  if (first == 0 || log.steps.empty()) return;
  log.begin_ns = log.steps.front().begin_ns;
  for (LoggedStep& step : log.steps) step.step -= first;
  const auto is_earlier = [&](const auto& each) { return each.time_ns < log.begin_ns; };
  std::erase_if(log.memory, is_earlier);
  std::erase_if(log.cores, is_earlier);
  std::erase_if(log.marks, [&](const LogMark& mark) {
    return mark.kind == LogMarkKind::kEpoch && is_earlier(mark);
  });
}

StepLog emptied(StepLog used) {
  StepLog log;
  log.steps.swap(used.steps);
  log.memory.swap(used.memory);
  log.cores.swap(used.cores);
  log.marks.swap(used.marks);
  log.steps.clear();
  log.memory.clear();
  log.cores.clear();
  log.marks.clear();
  return log;
}

}  // namespace

tl::expected<StepLog, ReadError> parse_step_log(const std::string& name, std::string_view bytes,
                                                StepLog used) {
  StepLog log = emptied(std::move(used));
  log.path = name;
  if (bytes.empty()) {  // a rank makes the file before its first step, and writes a second later
    return tl::unexpected(ReadError{name + ": is empty: its rank ended before it wrote a step, "
                                           "could not write, or has only begun"});
  }
  bool has_owner = false;
  BlockScan scan(bytes);
  while (auto block = scan.next()) {
    has_owner = has_owner || block->owner.has_value();
    take_block(log, std::move(*block));
  }
  if (!has_owner) return tl::unexpected(ReadError{name + ": is no step log of Redline"});
  log.damaged_bytes = scan.damaged_bytes();
  begin_with_training(log);
  return log;
}

tl::expected<StepLog, ReadError> read_step_log(const std::string& path, StepLog used) {
  if (FileDescriptor(path.c_str()).get() < 0) {
    return tl::unexpected(ReadError{path + ": " + std::strerror(errno)});
  }
  return parse_step_log(path, read_file(path), std::move(used));
}

std::vector<std::string> find_step_logs(const std::string& folder) {
  return find_rank_files(folder, kStepLogSuffix);
}

}  // namespace redline::trace
