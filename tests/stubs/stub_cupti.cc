// Stands for libcupti.so.13 in tests on machines without a GPU. Callbacks and buffers are real; the
// records are those that the test emits, each as long as in the version in use. With
// REDLINE_STUB_HANGS it prints "hangs" if all kinds are disabled while work is not over.
#include "tests/stubs/stubs.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "base/clock.h"

namespace redline::stub {
namespace {

using cupti::Kind;

uint64_t monotonic() { return static_cast<uint64_t>(monotonic_ns()); }

struct Open {
  uint8_t* buffer = nullptr;
  size_t size = 0;
  size_t used = 0;
  size_t most_records = 0;  ///< 0: as many as fit
  size_t records = 0;
};

struct State {
  std::mutex mutex;
  std::mutex buffers;  ///< guards `open`
  uint32_t version = 130001;
  std::map<std::string, int> failures;
  std::map<std::string, int> calls;
  std::map<Kind, bool> enabled;
  std::map<int, int> attributes;
  std::string other_subscriber;
  std::string subscriber;
  bool is_taken = false;  ///< the one place for a subscriber
  redline::cupti::Callback callback = nullptr;
  void* callback_data = nullptr;
  std::set<int> domains;  ///< whose calls the subscriber wants to know
  int site = -1;          ///< of the callback that runs now
  uint64_t (*clock)() = monotonic;
  std::set<std::string> names;  // never erased: as with CUPTI, a name that was given stays valid
  std::map<std::pair<int, uint32_t>, const char*> functions;
  std::map<int, Open> open;
  std::vector<Open> full;
  std::atomic<size_t> dropped = 0;
  size_t most_in_buffer = SIZE_MAX;
  bool is_reversed = false;
  bool is_held = false;
  std::atomic<bool> is_hanging = false;
  bool is_lent = false;
  std::set<std::pair<int, uint32_t>> not_recorded;
  std::set<std::pair<uint32_t, uint32_t>> unified_counters;
  /// By thread, for how many flushes; `buffers` guards it and what follows.
  std::map<int, int> kept;
  int forced_buffers = 0;
  int flushes = 0;
  std::condition_variable flushed;
  cupti::BufferRequested requested = nullptr;
  cupti::BufferCompleted completed = nullptr;
};

State& state() {
  static auto* const instance = new State;
  return *instance;
}

thread_local std::map<uint32_t, std::vector<uint64_t>> t_external_ids;

/// Sizes of records by CUPTI's headers, from CUDA 11.8 on; later versions made some larger.
size_t size_of(Kind kind, uint32_t version) {
  const bool is_13 = version >= 130000;
  switch (kind) {
    case Kind::kKernel:
    case Kind::kConcurrentKernel:
      return version >= 130100 ? 224 : is_13 ? 216 : version >= 19 ? 208 : 200;
    case Kind::kMemcpy:
      return version >= 26 ? 96 : 88;
    case Kind::kPeerCopy:
      return 96;
    case Kind::kMemset:
      return 88;
    case Kind::kRuntime:
    case Kind::kDriver:
      return 40;
    case Kind::kExternalCorrelation:
      return 24;
    case Kind::kSynchronization:
      return version >= 26 ? 56 : 40;
    case Kind::kCudaEvent:
      return version >= 26 ? 56 : 24;
    case Kind::kOverhead:
      return is_13 ? 56 : version >= 20 ? 48 : 40;
    case Kind::kContext:
      return is_13 ? 32 : 16;
    case Kind::kMemory:
      return is_13 ? 128 : 120;
    case Kind::kMemoryPool:
      return is_13 ? 80 : 72;
    case Kind::kUnifiedMemory:
      return is_13 ? 104 : 64;
    case Kind::kStream:
      return 24;
    case Kind::kEnvironment:
      return 40;
  }
  return kind == Kind{12} ? 56 : 0;  // a marker: CUPTI knows it, but nobody asks for it
}

int answer(const char* function) {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  ++all.calls[function];
  const auto failure = all.failures.find(function);
  return failure == all.failures.end() ? 0 : failure->second;
}

void hand_over(std::vector<Open> buffers) {
  if (state().is_reversed) std::reverse(buffers.begin(), buffers.end());
  for (const Open& each : buffers) {
    state().completed(nullptr, 0, each.buffer, each.size, each.used);
  }
}

void tell_that_it_hangs() {
  const std::lock_guard lock(state().mutex);
  const bool is_on =
      std::ranges::any_of(state().enabled, [](const auto& kind) { return kind.second; });
  if (is_on || number("REDLINE_STUB_HANGS", 0) == 0) return;
  static const int is_told = std::puts("hangs") + std::fflush(stdout);
  static_cast<void>(is_told);
}

int record_function(int domain, uint32_t number, bool is_on) {
  auto& off = state().not_recorded;
  if (is_on) {
    off.erase({domain, number});
  } else {
    off.insert({domain, number});
  }
  return answer("cuptiActivityEnableApi");
}

void append(const uint8_t* bytes, size_t given, size_t size, int thread) {
  State& all = state();
  // Nobody asked for records, or another user did.
  if (all.requested == nullptr || all.is_lent) return;
  const std::lock_guard lock(all.buffers);
  Open& open = all.open[thread];
  const bool is_full = open.used + size > std::min(open.size, all.most_in_buffer) ||
                       (open.most_records != 0 && open.records == open.most_records);
  if (open.buffer != nullptr && is_full) hand_over({std::exchange(open, {})});
  if (open.buffer == nullptr) {
    open.most_records = 1;  // CUPTI leaves it to the tool to say something
    all.requested(&open.buffer, &open.size, &open.most_records);
    if (open.buffer == nullptr) {
      ++all.dropped;
      return;
    }
  }
  std::memcpy(open.buffer + open.used, bytes, std::min(given, size));
  open.used += size;
  ++open.records;
}

}  // namespace

void reset_cupti() {
  State& all = state();
  for (auto& [thread, open] : all.open) {
    if (open.buffer != nullptr) all.completed(nullptr, 0, open.buffer, open.size, 0);
  }
  const std::lock_guard lock(all.mutex);
  all.version = 130001;
  all.failures.clear();
  all.calls.clear();
  all.enabled.clear();
  all.attributes.clear();
  all.other_subscriber.clear();
  all.is_taken = false;
  all.clock = monotonic;
  all.open.clear();
  all.dropped = 0;
  all.most_in_buffer = SIZE_MAX;
  all.not_recorded.clear();
  all.unified_counters.clear();
  all.kept.clear();
  all.forced_buffers = 0;
  all.is_reversed = all.is_held = all.is_lent = false;
}

void set_cupti_version(uint32_t version) { state().version = version; }
void fail_cupti(const char* function, int result) {
  const std::lock_guard lock(state().mutex);
  state().failures[function] = result;
}
int cupti_calls(const char* function) {
  const std::lock_guard lock(state().mutex);
  return state().calls[function];
}
bool is_enabled(Kind kind) {
  const std::lock_guard lock(state().mutex);
  return state().enabled[kind];
}
void name_function(int domain, uint32_t number, const char* name) {
  const std::lock_guard lock(state().mutex);
  state().functions[{domain, number}] = state().names.insert(name).first->c_str();
}
bool is_recorded(int domain, uint32_t number) {
  return !state().not_recorded.contains({domain, number});
}
int attribute(int number) { return state().attributes[number]; }
std::set<std::pair<uint32_t, uint32_t>> unified_counters() { return state().unified_counters; }
void call_cuda() {
  for (const int site : {0, 1}) {  // CUPTI_API_ENTER, CUPTI_API_EXIT
    if (state().callback == nullptr || !state().domains.contains(cupti::kRuntimeDomain)) return;
    state().site = site;
    state().callback(state().callback_data, cupti::kRuntimeDomain, 211, &site);
    state().site = -1;
  }
}
void set_other_subscriber(const char* name) { state().other_subscriber = name; }
std::string subscriber() {
  const std::lock_guard lock(state().mutex);
  return state().subscriber;
}
void set_cupti_clock(uint64_t (*clock)()) { state().clock = clock; }
void drop_records(size_t count) { state().dropped += count; }
void set_most_in_buffer(size_t bytes) { state().most_in_buffer = bytes; }
void reverse_buffers(bool is_reversed) { state().is_reversed = is_reversed; }
void lend_callbacks(bool is_lent) { state().is_lent = is_lent; }
void hold_buffers(bool is_held) { state().is_held = is_held; }
void hang_flushes(bool is_hanging) {
  state().is_hanging = is_hanging;
  state().is_hanging.notify_all();
}
void keep_buffer_of(int thread, int flushes) {
  const std::lock_guard lock(state().buffers);
  state().kept[thread] = flushes;
}
int forced_buffers() {
  const std::lock_guard lock(state().buffers);
  return state().forced_buffers;
}
void wait_for_flushes(int count) {
  State& all = state();
  std::unique_lock lock(all.buffers);
  all.flushed.wait(lock, [&all, last = all.flushes + count] { return all.flushes >= last; });
}

void emit(const void* record, size_t size, int thread) {
  Kind kind = {};
  std::memcpy(&kind, record, sizeof(kind));
  const size_t own = size_of(kind, state().version);
  append(static_cast<const uint8_t*>(record), size, own != 0 ? own : size, thread);
}

void emit_raw(const std::vector<uint8_t>& bytes, int thread) {
  append(bytes.data(), bytes.size(), bytes.size(), thread);
}

void call(const cupti::ApiRecord& record, int thread) {
  for (const auto& [kind, ids] : t_external_ids) {
    if (ids.empty()) continue;
    emit_record(cupti::ExternalCorrelationRecord{Kind::kExternalCorrelation, kind, ids.back(),
                                                 record.correlation, 0},
                thread);
  }
  emit_record(record, thread);
}

}  // namespace redline::stub

using redline::stub::answer;
using redline::stub::state;

extern "C" {

STUB_API int cuptiGetVersion(uint32_t* version) {
  *version = state().version;
  return answer("cuptiGetVersion");
}

STUB_API int cuptiGetResultString(int result, const char** text) {
  static thread_local std::string name;
  name = result == 999 ? "CUPTI_ERROR_UNKNOWN" : "CUPTI_ERROR_" + std::to_string(result);
  *text = name.c_str();
  return answer("cuptiGetResultString");
}

STUB_API int cuptiGetCallbackName(int domain, uint32_t number, const char** name) {
  {
    const std::lock_guard lock(state().mutex);
    const auto known = state().functions.find({domain, number});
    if (known == state().functions.end()) return 1;
    *name = known->second;
  }
  return answer("cuptiGetCallbackName");
}

STUB_API int cuptiSetThreadIdType(int) { return answer("cuptiSetThreadIdType"); }

STUB_API int cuptiActivitySetAttribute(int attribute, size_t*, void* value) {
  state().attributes[attribute] = *static_cast<uint8_t*>(value);
  return answer("cuptiActivitySetAttribute");
}

STUB_API int cuptiGetTimestamp(uint64_t* time) {
  *time = state().clock();
  return answer("cuptiGetTimestamp");
}

STUB_API int cuptiActivityEnableAllSyncRecords(uint8_t is_on) {
  answer(is_on != 0 ? "cuptiActivityEnableAllSyncRecords 1"
                    : "cuptiActivityEnableAllSyncRecords 0");
  return answer("cuptiActivityEnableAllSyncRecords");
}

STUB_API int cuptiSubscribe_v2(void** subscriber, redline::cupti::Callback, void*,
                               redline::cupti::SubscriberParams* params) {
  *subscriber = &state();  // also where it fails: nobody may rely on what is left there
  if (const int result = answer("cuptiSubscribe_v2"); result != 0) return result;
  const std::lock_guard lock(state().mutex);
  const std::string& other = state().is_taken ? state().subscriber : state().other_subscriber;
  if (state().is_taken || !other.empty()) {
    other.copy(params->other, params->other_size - 1);
    return redline::cupti::kMultipleSubscribers;
  }
  state().is_taken = true;
  state().subscriber = params->name;
  return 0;
}

STUB_API int cuptiSubscribe(void** subscriber, redline::cupti::Callback callback, void* user) {
  redline::cupti::SubscriberParams params;
  char other[64] = "";
  params.name = "";
  params.other = other;
  params.other_size = sizeof(other);
  const int result = cuptiSubscribe_v2(subscriber, callback, user, &params);
  if (result != 0) return result;
  state().callback = callback;
  state().callback_data = user;
  return result;
}

STUB_API int cuptiEnableDomain(uint32_t is_on, void*, int domain) {
  if (is_on != 0) state().domains.insert(domain);
  return answer("cuptiEnableDomain");
}

// It is safe only when a call of CUDA ends.
STUB_API int cuptiFinalize() {
  return answer(state().site == 1 ? "cuptiFinalize" : "cuptiFinalize at a wrong time");
}

STUB_API int cuptiUnsubscribe(void*) {
  {
    const std::lock_guard lock(state().mutex);
    state().subscriber.clear();
    state().is_taken = false;
    state().callback = nullptr;
    state().domains.clear();
  }
  return answer("cuptiUnsubscribe");
}

STUB_API int cuptiGetStreamIdEx(void*, void* stream, uint8_t is_per_thread, uint32_t* id) {
  *id = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(stream)) + is_per_thread;
  return answer("cuptiGetStreamIdEx");
}

STUB_API int cuptiGetDeviceId(void* context, uint32_t* device) {
  *device = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(context) - 1);
  return answer("cuptiGetDeviceId");
}

STUB_API int cuptiActivityRegisterCallbacks(redline::cupti::BufferRequested requested,
                                            redline::cupti::BufferCompleted completed) {
  const int result = answer("cuptiActivityRegisterCallbacks");
  if (result == 0) {
    state().is_lent = false;
    state().requested = requested;
    state().completed = completed;
  }
  return result;
}

STUB_API int cuptiActivityConfigureUnifiedMemoryCounter(
    redline::cupti::UnifiedMemoryConfig* configs, uint32_t count) {
  const int result = answer("cuptiActivityConfigureUnifiedMemoryCounter");
  for (uint32_t i = 0; i < count; ++i) {
    state().unified_counters.insert({configs[i].device, configs[i].counter});
  }
  return count == 0 ? 1 : result;
}

STUB_API int cuptiActivityEnable(redline::cupti::Kind kind) {
  int result = answer("cuptiActivityEnable");
  if (result == 0) {
    const auto number = std::to_string(static_cast<uint32_t>(kind));
    result = answer(("cuptiActivityEnable " + number).c_str());
  }
  if (result != 0) return result;
  const std::lock_guard lock(state().mutex);
  state().enabled[kind] = true;
  const bool is_driver = kind == redline::cupti::Kind::kDriver;
  if (!is_driver && kind != redline::cupti::Kind::kRuntime) return 0;
  std::erase_if(state().not_recorded, [is_driver](const auto& function) {
    return (function.first == redline::cupti::kDriverDomain) == is_driver;
  });
  return 0;
}

STUB_API int cuptiActivityDisable(redline::cupti::Kind kind) {
  {
    const std::lock_guard lock(state().mutex);
    state().enabled[kind] = false;
  }
  return answer("cuptiActivityDisable");
}

STUB_API int cuptiActivityFlushAll(uint32_t flags) {
  const int result = answer("cuptiActivityFlushAll");
  state().is_hanging.wait(true);
  if (result != 0 || state().is_held) return result;
  std::vector<redline::stub::Open> buffers;
  {
    const std::lock_guard lock(state().buffers);
    const bool is_forced = (flags & redline::cupti::kFlushForced) != 0;
    for (auto& [thread, open] : state().open) {
      if (open.buffer == nullptr) continue;
      const auto kept = state().kept.find(thread);
      const bool is_kept = kept != state().kept.end() && kept->second > 0;
      if (is_kept) is_forced ? ++state().forced_buffers : --kept->second;
      if (is_kept && !is_forced) {
        redline::stub::tell_that_it_hangs();
        continue;
      }
      buffers.push_back(std::exchange(open, {}));
    }
  }
  redline::stub::hand_over(std::move(buffers));
  {
    const std::lock_guard lock(state().buffers);
    ++state().flushes;
  }
  state().flushed.notify_all();
  return 0;
}

STUB_API int cuptiActivityEnableRuntimeApi(uint32_t number, uint8_t is_on) {
  return redline::stub::record_function(redline::cupti::kRuntimeDomain, number, is_on != 0);
}

STUB_API int cuptiActivityEnableDriverApi(uint32_t number, uint8_t is_on) {
  return redline::stub::record_function(redline::cupti::kDriverDomain, number, is_on != 0);
}

STUB_API int cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid_size, uint8_t** record) {
  using redline::stub::size_of;
  constexpr int kMaxLimitReached = 12, kInvalidKind = 21;
  uint8_t* next = buffer;
  redline::cupti::Kind kind = {};
  if (*record != nullptr) {
    std::memcpy(&kind, *record, sizeof(kind));
    next = *record + size_of(kind, state().version);
  }
  if (next >= buffer + valid_size) return kMaxLimitReached;
  std::memcpy(&kind, next, sizeof(kind));
  if (size_of(kind, state().version) == 0) return kInvalidKind;
  *record = next;
  return answer("cuptiActivityGetNextRecord");
}

STUB_API int cuptiActivityGetNumDroppedRecords(void* context, uint32_t stream, size_t* dropped) {
  const bool is_of_all = context == nullptr && stream == 0;
  *dropped = is_of_all ? state().dropped.exchange(0) : 0;
  return answer("cuptiActivityGetNumDroppedRecords");
}

STUB_API int cuptiActivityPushExternalCorrelationId(uint32_t kind, uint64_t id) {
  redline::stub::t_external_ids[kind].push_back(id);
  return answer("cuptiActivityPushExternalCorrelationId");
}

STUB_API int cuptiActivityPopExternalCorrelationId(uint32_t kind, uint64_t* last) {
  constexpr int kQueueEmpty = 18;
  auto& ids = redline::stub::t_external_ids[kind];
  if (ids.empty()) return kQueueEmpty;
  *last = ids.back();
  ids.pop_back();
  return answer("cuptiActivityPopExternalCorrelationId");
}

// Functions that LibTorch links and only calls when it profiles itself.
#define STUB_NOT_CALLED(name) \
  STUB_API int name() { return answer(#name); }
STUB_NOT_CALLED(cuptiActivityEnableCudaEventDeviceTimestamps)
STUB_NOT_CALLED(cuptiEnableCallback)
STUB_NOT_CALLED(cuptiActivityRegisterTimestampCallback)

}  // extern "C"
