#include "profiler/cupti/recorded_events.h"

#include <algorithm>

namespace redline::cupti {
namespace {

/// Correlations count up, and begin again at 0 after 2^32.
bool is_before(uint32_t correlation, uint32_t other) {
  return static_cast<int32_t>(correlation - other) < 0;
}

bool is_older(const RecordedEvent& event, const RecordedEvent& other) {
  return is_before(event.correlation, other.correlation);
}

}  // namespace

void RecordedEvents::add(const CudaEventRecord& record) {
  std::vector<RecordedEvent>& all = events_[key(record.context, record.event)];
  const RecordedEvent added{record.stream, record.correlation};
  all.insert(std::ranges::upper_bound(all, added, is_older), added);
}

const RecordedEvent* RecordedEvents::find(uint32_t context, uint32_t event,
                                          uint32_t correlation) const {
  const auto known = events_.find(key(context, event));
  if (known == events_.end()) return nullptr;
  const std::vector<RecordedEvent>& all = known->second;
  const auto next = std::ranges::lower_bound(all, RecordedEvent{0, correlation}, is_older);
  return next == all.begin() ? nullptr : &*std::prev(next);
}

void RecordedEvents::end_round() {
  for (auto& [key, all] : events_) {
    if (all.size() <= kMostOfEvent) continue;
    all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(kMostOfEvent));
  }
  if (events_.size() <= kMostEvents) return;
  std::vector<RecordedEvent> last;
  for (const auto& [key, all] : events_) last.push_back(all.back());
  const auto middle = last.begin() + static_cast<std::ptrdiff_t>(last.size() / 2);
  std::nth_element(last.begin(), middle, last.end(), is_older);
  std::erase_if(events_, [&](const auto& each) { return is_older(each.second.back(), *middle); });
}

}  // namespace redline::cupti
