#include "profiler/nccl/nccl_plugin.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <exception>
#include <string>
#include <utility>

#include "profiler/source/gpu_work.h"

namespace redline::nccl {
namespace {

using profiler::NcclFields;
using profiler::Record;
using profiler::RecordKind;

/// Events of calls on the job's own threads, within the operator that communicates.
constexpr uint64_t kHostCalls =
    kGroup | kColl | kP2p | kGroupApi | kCollApi | kP2pApi | kKernelLaunch | kCeColl;
constexpr uint64_t kParts = kProxyOp | kKernelCh;
constexpr uint64_t kOfGpuClock = kKernelCh | kKernelPhase;
/// What tells that collectives begin and end. NCCL gives a collective only within its group.
constexpr uint64_t kOfList = kGroup | kGroupApi | kCollApi | kColl | kKernelCh;

void raise(std::atomic<int64_t>& time, int64_t to) {
  int64_t now = time.load();
  while (now < to && !time.compare_exchange_weak(now, to)) {
  }
}

profiler::TextId interned_args(const Event& event) {
  const uint64_t key = args_key(event);
  if (const profiler::TextId known = profiler::known_args(key)) return known;
  return profiler::intern_args_as(key, args_of(event));
}

}  // namespace

int wanted_types(int known) {
  constexpr int kPhases = kKernelPhase, kChannels = kKernelCh;
  constexpr int kMany = kProxyStep | kProxyCtrl | kNetPlugin | kPhases;
  const char* asked = std::getenv("NCCL_PROFILE_EVENT_MASK");
  const int wanted = (asked != nullptr && *asked != '\0' ? std::atoi(asked) : ~kMany) & known;
  // NCCL gives no phases without channels: it would add the channels to the mask by itself.
  return (wanted & kPhases) != 0 ? wanted | kChannels : wanted;
}

NcclPlugin& NcclPlugin::instance() {
  static auto* const plugin = [] {
    auto* made = new NcclPlugin;
    profiler::add_source(made);
    return made;
  }();
  return *plugin;
}

Communicator& NcclPlugin::add_communicator(int types, int* mask) {
  const std::lock_guard lock(mutex_);
  if (masks_.empty()) is_listing_ = EnteredList::is_wanted();
  if (is_listing_ && !std::exchange(is_list_known_, true)) profiler::add_collectives(&entered_);
  Communicator& made = communicators_.emplace_back(types, mask);
  auto known = std::ranges::find(masks_, mask, &Mask::place);
  if (known == masks_.end()) known = masks_.insert(known, {mask, types, 0});
  ++known->communicators;
  set(*known);
  return made;
}

void NcclPlugin::end_communicator(const Communicator& communicator) {
  entered_.forget(communicator);
  const std::lock_guard lock(mutex_);
  const auto mask = std::ranges::find(masks_, communicator.mask(), &Mask::place);
  if (mask != masks_.end() && --mask->communicators == 0) masks_.erase(mask);
}

void NcclPlugin::set(const Mask& mask) const {
  const int outside = is_listing_ ? mask.types & static_cast<int>(kOfList) : 0;
  std::atomic_ref<int>(*mask.place)
      .store(is_enabled_ ? mask.types : outside, std::memory_order_relaxed);
}

void NcclPlugin::set_masks(bool is_enabled) {
  const std::lock_guard lock(mutex_);
  is_enabled_ = is_enabled;
  for (const Mask& mask : masks_) set(mask);
}

bool NcclPlugin::is_listening() const { return profiler::is_recording() || is_listing_; }

void NcclPlugin::enable(const RecorderOptions&) noexcept {
  events_ = 0;
  dropped_ = 0;
  set_masks(true);
}

void NcclPlugin::disable() noexcept {
  set_masks(false);
  const int64_t now = monotonic_ns();
  uint64_t unfinished = 0;
  try {
    open_.visit([&](uint64_t handle, OpenEvent& open) {
      // The list waits for the end of collectives, and so for their channels.
      const bool stays = is_listing_ && (open.event.type & (kColl | kKernelCh)) != 0;
      if (stays ? open.is_recorded.exchange(true) : !open_.close(handle)) return;
      const bool is_finished = open.has_stopped;
      if (!is_finished) raise(open.end_ns, now);
      Record record = describe(open, handle);
      record.device_index = is_finished ? -1 : 1;
      if (stays || !open.is_recorded) {
        unfinished += is_finished ? 0 : 1;
        profiler::deliver(record);
        ++events_;
      }
      if (!stays) open_.give_back(open);
    });
    if (events_ == 0) return;
    profiler::add_entry("redline", "{\"nccl\": {\"events\": " + std::to_string(events_) +
                                       ", \"unfinished\": " + std::to_string(unfinished) +
                                       ", \"dropped\": " + std::to_string(dropped_) + "}}");
  } catch (const std::exception&) {
    // No memory: the trace lacks the events that were open.
  }
}

/// Takes a place. If all are taken, closes the collectives that only wait for parts, because these
/// parts may never come.
OpenEvent* NcclPlugin::take_place(uint64_t& handle) {
  if (OpenEvent* open = open_.take(handle)) return open;
  open_.visit([&](uint64_t waiting, OpenEvent& open) {
    if (!open.has_stopped || !open_.close(waiting)) return;
    submit(open, waiting);
    open_.give_back(open);
  });
  return open_.take(handle);
}

/// How many parts a collective waits for. NCCL ends its event when it is enqueued, but the work is
/// over only when its channels on the GPU have ended.
uint32_t NcclPlugin::expected_parts(const Event& event) const {
  if ((event.type & (kColl | kP2p)) == 0 || event.communicator == nullptr) return 0;
  const bool come = (event.communicator->types() & kKernelCh) != 0;
  return come ? static_cast<uint32_t>(std::max(event.channels, 0)) : 0;
}

/// Makes the parent of this event wait for it.
void NcclPlugin::join_parent(Event& event) {
  if (!open_.add_end(event.parent)) return;
  OpenEvent* parent = open_.find(event.parent);
  // The parent is null if it was recorded already: the window ended, or its place was needed.
  if (parent == nullptr || event.type != kKernelCh) return;
  event.function = parent->event.function;
  event.number = parent->event.number;
  // If the parent had counted this part beforehand, add_end() has counted it twice.
  if (parent->expected.fetch_sub(1) > 0) leave(event.parent, *parent);
}

uint64_t NcclPlugin::begin(const Event& event) {
  const bool is_recorded = profiler::is_recording();
  if (!is_recorded && !is_listing_) return 0;
  uint64_t handle = 0;
  OpenEvent* open = take_place(handle);
  if (open == nullptr) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
    return 0;
  }
  const int64_t now = monotonic_ns();
  open->event = event;
  Event& kept = open->event;
  if ((event.type & kParts) != 0) join_parent(kept);
  if (is_recorded && (event.type & kHostCalls) != 0)
    kept.step = static_cast<uint32_t>(profiler::current_operator());
  if (is_recorded && event.type == kColl) {
    profiler::note_collective_choice(kept.step, event.algorithm, event.protocol);
  }
  // Of a call in a CUDA graph NCCL makes this event each time that the graph runs, not when the
  // call is captured (hostStreamPlanTask() in its enqueue.cc). So each of them enters.
  const bool enters = event.type == kColl && event.communicator != nullptr;
  open->ticket = is_listing_ && enters ? entered_.enter(event) : 0;
  open->is_recorded = !is_recorded;
  open->begin_ns = now;
  if (event.ptimer != 0 && event.communicator != nullptr) {
    open->begin_ns = std::min(now, event.communicator->to_host(event.ptimer, now));
  }
  open->end_ns = open->begin_ns;
  open->bytes = 0;
  open->state = -1;
  open->has_stopped = false;
  const uint32_t parts = expected_parts(event);
  open->expected = static_cast<int>(parts);
  open_.publish(*open, handle, parts);
  return handle;
}

void NcclPlugin::end(uint64_t handle) {
  OpenEvent* open = open_.find(handle);
  if (open == nullptr) return;
  const int64_t now = monotonic_ns();
  const bool has_own_end = (open->event.type & kOfGpuClock) != 0 && open->end_ns > open->begin_ns;
  if (!has_own_end) raise(open->end_ns, now);
  record_phase(*open, handle, now);
  open->has_stopped = true;
  leave(handle, *open);
}

/// The event is over.
void NcclPlugin::submit(OpenEvent& open, uint64_t handle) {
  if (open.ticket != 0) entered_.complete(open.ticket);
  if (open.is_recorded) return;
  profiler::submit(describe(open, handle));
  events_.fetch_add(1, std::memory_order_relaxed);
}

/// Counts one end of an event. After the last one the event is recorded.
void NcclPlugin::leave(uint64_t handle, OpenEvent& open) {
  if (!open_.end(handle)) return;
  const uint64_t parent = (open.event.type & (kParts | kProxyStep)) != 0 ? open.event.parent : 0;
  const int64_t end_ns = open.end_ns;
  const uint64_t bytes = open.event.type == kProxyStep ? open.bytes.load() : 0;
  const bool is_part = (open.event.type & kParts) != 0;
  submit(open, handle);
  open_.give_back(open);
  OpenEvent* whole = open_.find(parent);
  if (whole == nullptr) return;
  if (bytes > 0) whole->bytes.fetch_add(bytes);
  if (!is_part) return;
  raise(whole->end_ns, end_ns);
  leave(parent, *whole);
}

void NcclPlugin::change(uint64_t handle, EventState state, const StateArgs* args,
                        bool with_stamps) {
  OpenEvent* open = open_.find(handle);
  if (open == nullptr) return;
  const int64_t now = monotonic_ns();
  const Event& event = open->event;
  const bool is_transfer = with_stamps ? event.type == kProxyStep : event.type == kProxyOp;
  if (is_transfer && args != nullptr && args->transferred_bytes > open->bytes) {
    open->bytes = args->transferred_bytes;
  }
  if ((event.type & kOfGpuClock) != 0) {
    const uint64_t stamp = with_stamps && args != nullptr ? args->ptimer : 0;
    if (stamp > event.ptimer && event.ptimer != 0 && event.communicator != nullptr) {
      // Called for its effect: each stamp may improve the offset of the clocks.
      static_cast<void>(event.communicator->to_host(stamp, now));
      raise(open->end_ns, open->begin_ns + static_cast<int64_t>(stamp - event.ptimer));
    }
    return;
  }
  if ((event.type & (kProxyStep | kProxyCtrl)) == 0 || name_of(state).empty()) return;
  record_phase(*open, handle, now);
  open->state_ns = now;
  open->state = state;
}

/// Records the state that ends now as an event within the open one.
void NcclPlugin::record_phase(const OpenEvent& open, uint64_t handle, int64_t end_ns) {
  const int state = open.state;
  if (state < 0 || open.is_recorded) return;
  Record record = describe(open, handle);
  record.name = profiler::intern_name(name_of(static_cast<EventState>(state)));
  record.begin_ns = open.state_ns;
  NcclFields fields = record.of.nccl;
  fields.end_ns = end_ns;
  fields.number = 0;
  fields.parent = fields.id;
  fields.id = static_cast<uint32_t>(open_.next_serial());
  record.of = fields;
  profiler::submit(record);
  events_.fetch_add(1, std::memory_order_relaxed);
}

Record NcclPlugin::describe(const OpenEvent& open, uint64_t handle) const {
  const Event& event = open.event;
  Record record;
  record.kind = RecordKind::kNccl;
  record.begin_ns = open.begin_ns;
  record.name = profiler::intern_name(name_of(event));
  record.device_type = static_cast<int8_t>(std::countr_zero(event.type));
  NcclFields fields;
  fields.end_ns = open.end_ns;
  fields.number = std::max(event.number, open.bytes.load());
  fields.id = OpenEvents::id_of(handle);
  fields.parent = OpenEvents::id_of(event.parent);
  fields.args = interned_args(event);
  fields.step = event.step;
  record.of = fields;
  return record;
}

}  // namespace redline::nccl
