#include "profiler/cupti/launches.h"

#include <algorithm>
#include <utility>

namespace redline::cupti {
namespace {

constexpr int64_t kClockErrorNs = 1'000'000;

void merge(ExternalIds& ids, const ExternalIds& more) {
  if (ids.op == 0) ids.op = more.op;
  if (ids.annotation == 0) ids.annotation = more.annotation;
}

uint32_t correlation_of(uint32_t correlation) { return correlation; }
uint32_t correlation_of(const std::pair<const uint32_t, ExternalIds>& each) { return each.first; }

/// Removes the older entries if there are too many. Correlations count up.
template <typename Container>
void forget_older(Container& container) {
  if (container.size() <= Launches::kMost) return;
  uint32_t newest = 0;
  for (const auto& each : container) newest = std::max(newest, correlation_of(each));
  std::erase_if(container, [newest](const auto& each) {
    return newest - correlation_of(each) > Launches::kMost / 2;
  });
}

}  // namespace

void Launches::add_external(uint32_t correlation, bool is_annotation, uint32_t id) {
  ExternalIds& ids = waiting_[correlation];
  (is_annotation ? ids.annotation : ids.op) = id;
}

void Launches::add_call(uint32_t correlation, int64_t begin_ns, uint32_t thread) {
  Call call{.begin_ns = begin_ns, .thread = thread, .external = {}, .has_arrow = false};
  if (const auto ids = waiting_.find(correlation); ids != waiting_.end()) {
    call.external = ids->second;
    waiting_.erase(ids);
  }
  calls_[correlation].push_back(call);
  order_.push_back(correlation);
}

void Launches::add_hidden(uint32_t correlation) { hidden_.insert(correlation); }

void Launches::end_round() {
  std::erase_if(waiting_, [this](const auto& each) {
    const auto calls = calls_.find(each.first);
    if (calls == calls_.end()) return false;  // a flush came between the id and its call
    merge(calls->second.back().external, each.second);
    return true;
  });
  forget_older(waiting_);  // ids of hidden calls would stay for ever
  forget_older(hidden_);
}

ExternalIds Launches::ids_without_call(uint32_t correlation) const {
  const auto ids = waiting_.find(correlation);
  return ids != waiting_.end() ? ids->second : ExternalIds();
}

Call* Launches::find(uint32_t correlation, int64_t time_ns) {
  const auto calls = calls_.find(correlation);
  if (calls == calls_.end()) return nullptr;
  Call* last = nullptr;
  for (Call& call : calls->second) {
    if (call.begin_ns <= time_ns && (last == nullptr || call.begin_ns > last->begin_ns)) {
      last = &call;
    }
  }
  if (last != nullptr) return last;
  // CUPTI matches the clocks of GPU and CPU only to some microseconds.
  Call& first = calls->second.front();
  return first.begin_ns - time_ns <= kClockErrorNs ? &first : nullptr;
}

void Launches::forget_old() {
  while (order_.size() > kMost) forget_oldest();
}

void Launches::forget_oldest() {
  const auto calls = calls_.find(order_.front());
  order_.pop_front();
  calls->second.erase(calls->second.begin());
  if (calls->second.empty()) calls_.erase(calls);
}

}  // namespace redline::cupti
