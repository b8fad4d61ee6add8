#include "trace/analysis/waiting_calls.h"

#include <string_view>

#include "base/text_search.h"
#include "trace/analysis/host_tree.h"

namespace redline::trace {

std::vector<WaitingCall> waiting_calls_of(const Trace& trace) {
  std::vector<WaitingCall> kinds(trace.string_count(), WaitingCall::kNone);
  for (uint32_t i = 0; i < kinds.size(); ++i) {
    const std::string_view name = trace.string(StringId{i});
    if (contains_any(name, {"Synchronize", "urEventWait", "urQueueFinish"})) {  // SYCL's: ur…
      kinds[i] = WaitingCall::kSynchronises;
    }
    if (contains_any(name, {"Memcpy", "Memset"})) kinds[i] = WaitingCall::kCopies;
  }
  return kinds;
}

bool worked_in_pause(const Trace& trace, const NameKinds& names, const OtherThread& other,
                     SliceId inside, Interval pause, int64_t from_ns) {
  if (!other.ended) return !inside && other.is_inside;
  const auto& slices = trace.slices();
  const uint32_t slice = other.ended.value;
  const Category category = slices.category[slice];
  const bool is_frame = category == Category::kPythonFunction;
  if (!is_host_node(category) && (!is_frame || inside)) return false;
  if (slices.begin_ns[slice] >= pause.begin_ns) return true;
  return names.is(slices.name[slice], kCommunicationOpName) &&
         pause.end_ns - other.at_ns <= other.at_ns - from_ns;
}

}  // namespace redline::trace
