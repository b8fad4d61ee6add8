#include "trace/report/hang_words.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/format.h"

namespace redline::trace {
namespace {

constexpr size_t kMostRanks = 8;

std::string phase_text(const std::string& phase) {
  if (phase == "checkpoint") return " saves a checkpoint";
  if (phase == "compile") return " compiles";
  if (phase == "evaluation") return " evaluates its model";
  if (phase == "data") return " waits for data that its workers prepare";
  if (phase == "start") return " is in one of its first steps";
  return " still works";
}

std::string what_it_does(const Hang& hang) {
  const std::string why = hang.error.empty() ? "" : ": " + hang.error;
  switch (hang.kind) {
    case HangKind::kSlow:
      return phase_text(hang.phase);
    case HangKind::kNotEntered:
      return " did not enter it";
    case HangKind::kSkipped:
      return " left a collective out and went on to a later step";
    case HangKind::kMismatch:
      return hang.waiting_ranks.empty()
                 ? " entered different ones: " + hang.expected + ", " + hang.entered
                 : " entered " + hang.entered + ", the others " + hang.expected;
    case HangKind::kOrder:
      return " entered collectives of several groups in another order";
    case HangKind::kDied:
      return " has ended" + why;
    case HangKind::kOutOfMemory:
      return " ran out of memory" + why;
    case HangKind::kStopped:
      return " was stopped by a signal or a debugger";
    case HangKind::kComputes:
      return " computes outside of torch; whether that ends cannot be known";
    case HangKind::kData:
      return " waits for data";
    case HangKind::kLock:
      return " waits for a lock";
    case HangKind::kSleeps:
      return " sleeps";
    case HangKind::kInputOutput:
      return " is blocked in input or output";
  }
  return "";
}

}  // namespace

const char* hang_title(const Hang& hang) {
  if (hang.kind == HangKind::kSlow) return "the job is slow";
  return hang.has_failed ? "the job failed" : "the job hangs";
}

std::vector<std::string> hang_lines(const Hang& hang, int64_t now_ns) {
  std::vector<std::string> lines;
  std::string first = format_ranks(hang.ranks, kMostRanks) + what_it_does(hang);
  if (!hang.host.empty()) first += " (" + hang.host + ")";
  lines.push_back(std::move(first));
  if (!hang.stack.empty()) {
    // Its last table may be a second older than its end.
    const bool is_old =
        hang.kind == HangKind::kStopped || (hang.kind == HangKind::kDied && hang.error.empty());
    std::string where = (is_old ? "last seen at " : "at ") + hang.stack.front();
    for (size_t i = 1; i < std::min<size_t>(3, hang.stack.size()); ++i) {
      where += " < " + hang.stack[i];
    }
    lines.push_back(std::move(where));
  }
  std::string wait;
  if (!hang.waiting_ranks.empty()) wait = format_ranks(hang.waiting_ranks, kMostRanks);
  if (!hang.operation.empty()) {
    wait += (wait.empty()                     ? ""
             : hang.has_failed                ? " waited in "
             : hang.waiting_ranks.size() == 1 ? " waits in "
                                              : " wait in ") +
            hang.operation;
  }
  if (hang.sequence) {
    wait += " " + std::to_string(*hang.sequence) + " of group " + hang.group;
  }
  if (hang.step) wait += (wait.empty() ? "step " : ", step ") + std::to_string(*hang.step);
  if (hang.since_ns > 0 && now_ns > hang.since_ns && !hang.has_failed) {
    wait += ", for " + format_ns(now_ns - hang.since_ns);
  }
  if (!wait.empty()) lines.push_back(std::move(wait));
  return lines;
}

std::string lagging_text(std::span<const HangTable> ranks) {
  const auto comes_later = [](const EnteredCollective& left, const EnteredCollective& right) {
    return std::tuple(!left.is_done, left.sequence) > std::tuple(!right.is_done, right.sequence);
  };
  const EnteredCollective* last = nullptr;
  for (const HangTable& table : ranks) {
    for (const EnteredCollective& entry : table.collectives) {
      const bool counts = entry.group == "0" || !entry.is_done;  // all ranks are in group 0
      if (counts && (last == nullptr || comes_later(entry, *last))) last = &entry;
    }
  }
  if (last == nullptr) return "";
  std::vector<int> lagging;
  for (const HangTable& table : ranks) {
    const auto is_last = [last](const EnteredCollective& entry) {
      return entry.group == last->group && entry.sequence == last->sequence;
    };
    if (std::ranges::none_of(table.collectives, is_last)) lagging.push_back(table.rank);
  }
  if (lagging.empty()) return "";
  const bool is_one = lagging.size() == 1;
  return "The dump" + std::string(is_one ? "" : "s") + " of " + format_ranks(lagging, kMostRanks) +
         (is_one ? " lacks " : " lack ") + last->operation + " " + std::to_string(last->sequence) +
         " of group " + last->group +
         ", which others list: " + (is_one ? "it did not enter it, " : "they did not enter it, ") +
         (last->group == "0" ? "or " : "") +
         (is_one ? "its dump is older" : "their dumps are older") +
         (last->group == "0" ? "." : ", or the group is one of others only.");
}

}  // namespace redline::trace
