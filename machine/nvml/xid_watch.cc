#include "machine/nvml/xid_watch.h"

namespace redline::nvml {

XidWatch::XidWatch(const Library& library) : library_(library) {
  if (REDLINE_NVML(library_, nvmlEventSetCreate, &events_) != kSuccess) events_ = nullptr;
}

XidWatch::~XidWatch() {
  if (events_ != nullptr) static_cast<void>(REDLINE_NVML(library_, nvmlEventSetFree, events_));
}

bool XidWatch::add(nvmlDevice_t device) {
  return events_ != nullptr &&
         REDLINE_NVML(library_, nvmlDeviceRegisterEvents, device, kXidEvent, events_) == kSuccess;
}

std::vector<XidWatch::Xid> XidWatch::take() const {
  constexpr size_t kMost = 100;  // a broken GPU may report without end
  std::vector<Xid> found;
  nvmlEventData_t event = {};
  while (events_ != nullptr && found.size() < kMost &&
         REDLINE_NVML(library_, nvmlEventSetWait_v2, events_, &event, 0) == kSuccess) {
    if (event.eventType == kXidEvent) found.push_back({event.device, event.eventData});
  }
  return found;
}

}  // namespace redline::nvml
