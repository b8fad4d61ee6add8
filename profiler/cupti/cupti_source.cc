#include "profiler/cupti/cupti_source.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "profiler/quiet_thread.h"
#include "trace/text_buffer.h"

namespace redline::cupti {
namespace {

constexpr int kFlushIntervalMs = 500;
constexpr auto kMostWaitAtEnd = std::chrono::seconds(2);

constexpr Kind kKinds[] = {Kind::kConcurrentKernel,
                           Kind::kMemcpy,
                           Kind::kPeerCopy,
                           Kind::kMemset,
                           Kind::kRuntime,
                           Kind::kDriver,
                           Kind::kExternalCorrelation,
                           Kind::kSynchronization,
                           Kind::kCudaEvent,
                           Kind::kOverhead,
                           Kind::kContext};

/// Without these a trace would have no GPU; the others only add to it.
bool is_needed(Kind kind) {
  return kind == Kind::kConcurrentKernel || kind == Kind::kMemcpy || kind == Kind::kMemset ||
         kind == Kind::kRuntime;
}

// What CUPTI's callbacks know. CUPTI may call them as long as the process lives, so they are never
// destroyed.
struct Shared {
  BufferPool pool;
  AnnotationNames annotations;
  std::atomic<bool> may_refuse = false;
  // The table of functions while operators' ids are wanted, else nullptr; and from then on for
  // ever, since what was pushed must be popped, also after the window's end.
  std::atomic<const Library*> ids = nullptr;
  std::atomic<const Library*> pops = nullptr;
};

Shared& shared() {
  static auto* const instance = new Shared;
  return *instance;
}

void buffer_requested(uint8_t** buffer, size_t* size, size_t* most_records) {
  *buffer = shared().pool.take(shared().may_refuse.load(std::memory_order_relaxed));
  *size = *buffer != nullptr ? BufferPool::kBufferBytes : 0;
  *most_records = 0;  // as many as fit
}

void buffer_completed(void*, uint32_t, uint8_t* buffer, size_t, size_t valid_size) {
  if (buffer != nullptr) shared().pool.complete(buffer, valid_size);
}

uint64_t timestamp() { return static_cast<uint64_t>(profiler::monotonic_ns()); }

/// The tool that was here first, as far as it can be known.
std::string other_subscriber() {
  if (std::getenv("NSYS_PROFILING_SESSION_ID") != nullptr) return "Nsight Systems";
  if (std::getenv("NV_COMPUTE_PROFILER_PERFWORKS_DIR") != nullptr) return "Nsight Compute";
  const char* injected = std::getenv("CUDA_INJECTION64_PATH");
  return injected != nullptr && *injected != '\0' ? injected : "another profiler";
}

}  // namespace

std::string CuptiSource::explain(const Library& library, Result result) {
  switch (result) {
    case kMultipleSubscribers:
      return other_subscriber() +
             " uses CUPTI in this process, which serves one tool at a time; the next window tries "
             "again";
    case kInsufficientPrivileges:
    case kVirtualizedInsufficientPrivileges:
      return "only root may read GPU activity here: load the driver with "
             "NVreg_RestrictProfilingToAdminUsers=0";
    case kNotInitialized:
      return "the CUDA driver does not start, or is too old for " + library.path;
    case kConfidentialComputing:
      return "the GPU is in confidential-computing mode";
    case kMigNotSupported:
      return "this CUPTI does not serve a part of a GPU (MIG)";
    case kWslNotSupported:
      return "this driver does not let CUPTI work under WSL";
    default:
      return library.path + ": " + library.error_text(result);
  }
}

void CuptiSource::enable(const profiler::SourceOptions& options) noexcept {
  if (!options.record_gpu || activities_) return;
  try {
    begin();
  } catch (const std::exception& failure) {
    refuse(failure.what());
  }
}

void CuptiSource::disable() noexcept {
  try {
    if (activities_) end();
  } catch (const std::exception& failure) {
    refuse(failure.what());
  }
  activities_.reset();
}

void CuptiSource::begin() {
  if (!library_) {
    auto found = find_library();
    if (!found) return refuse(found.error());
    library_ = std::move(*found);
    if (!library_) return;  // no CUDA here
  }
  if (!is_set_up_) {
    if (auto done = set_up(); !done) return refuse(done.error());
    is_set_up_ = true;
  }
  devices_ = {};
  Shared& all = shared();
  all.pool.warm_up();
  for (const auto& [buffer, size] : all.pool.take_filled()) all.pool.give_back(buffer);
  all.annotations.clear();
  refused_before_ = all.pool.refused();
  dropped_ = 0;
  if (const Result result = enable_kinds(); result != kSuccess) {
    return refuse(explain(*library_, result));
  }
  activities_ = std::make_unique<Activities>(*library_, devices_, all.annotations);
  is_closing_ = false;
  thread_ = profiler::start_quiet_thread([this] { run(); });
  if (!thread_) {
    disable_kinds();
    activities_.reset();
    return refuse("the system has no thread left");
  }
  all.pops = &*library_;
  all.ids = &*library_;
}

tl::expected<void, std::string> CuptiSource::set_up() {
  const Library& cupti = *library_;
  shared().may_refuse = cupti.version >= kVersion12_9;
  // The older ones of these may be missing, and none is worth losing the GPU for.
  if (cupti.set_attribute != nullptr) {
    uint8_t zeroed = 1;
    size_t size = sizeof(zeroed);
    static_cast<void>(cupti.set_attribute(kZeroedBuffers, &size, &zeroed));
  }
  static_cast<void>(cupti.set_thread_id_type(kSystemThreadIds));
  if (cupti.register_timestamp_callback != nullptr) {
    static_cast<void>(cupti.register_timestamp_callback(timestamp));
  }
  const Result result = cupti.register_callbacks(buffer_requested, buffer_completed);
  if (result != kSuccess) return tl::unexpected(explain(cupti, result));
  return {};
}

Result CuptiSource::enable_kinds() {
  for (const Kind kind : kKinds) {
    const Result result = library_->enable(kind);
    if (result == kSuccess) {
      enabled_.push_back(kind);
    } else if (is_needed(kind)) {
      disable_kinds();
      return result;
    }
  }
  return kSuccess;
}

void CuptiSource::disable_kinds() {
  for (const Kind kind : enabled_) static_cast<void>(library_->disable(kind));
  enabled_.clear();
}

void CuptiSource::run() {
  try {
    run_rounds();
  } catch (const std::exception&) {
    // No memory: the trace goes on without what comes now; its counts tell.
  }
  is_over_.release();
}

void CuptiSource::run_rounds() {
  while (!is_closing_) {
    shared().pool.wait(kFlushIntervalMs);
    if (is_closing_) return;
    read_round(library_->flush_all(0) == kSuccess);
  }
}

void CuptiSource::read_round(bool is_flushed) {
  const auto filled = shared().pool.take_filled();
  activities_->add_round(filled, is_flushed);
  for (const auto& [buffer, size] : filled) shared().pool.give_back(buffer);
  size_t dropped = 0;
  if (library_->get_dropped(nullptr, 0, &dropped) == kSuccess) dropped_ += dropped;
}

void CuptiSource::stop_thread() {
  shared().ids = nullptr;
  is_closing_ = true;
  shared().pool.wake();
  is_over_.acquire();
  thread_->join();
  thread_.reset();
}

void CuptiSource::let_go() noexcept {
  if (!activities_) return;
  shared().ids = nullptr;
  is_closing_ = true;
  shared().pool.wake();
  // It may wait within CUPTI for a thread that has crashed.
  if (!is_over_.try_acquire_for(kMostWaitAtEnd)) {
    thread_->detach();
    static_cast<void>(activities_.release());
    return;
  }
  thread_->join();
  thread_.reset();
  try {
    static_cast<void>(profiler::run_quietly([this] {
      read_round(false);
      finish_window();
    }));
  } catch (const std::exception&) {
    // No memory: the trace ends a little earlier.
  }
  activities_.reset();
}

void CuptiSource::finish_window() {
  activities_->finish();
  add_entries();
}

void CuptiSource::end() {
  stop_thread();
  // What was launched within the window is part of it.
  synchronize_devices();
  disable_kinds();
  const auto read_the_rest = [this] {
    read_round(library_->flush_all(0) == kSuccess);
    read_round(library_->flush_all(kFlushForced) == kSuccess);
    finish_window();
  };
  // On a thread of its own: records have a thread whose log they go through.
  if (!profiler::run_quietly(read_the_rest)) refuse("the system has no thread left");
}

void CuptiSource::add_entries() {
  const ActivityCounts& counts = activities_->counts();
  const uint64_t refused = shared().pool.refused() - refused_before_;
  profiler::add_entry("redline",
                      "{\"gpu\": {\"records\": " + std::to_string(counts.decoded.records) +
                          ", \"dropped\": " + std::to_string(dropped_) +
                          ", \"buffers_refused\": " + std::to_string(refused) +
                          ", \"unknown\": " + std::to_string(counts.decoded.unknown) +
                          ", \"truncated\": " + std::to_string(counts.decoded.truncated) +
                          ", \"incomplete\": " + std::to_string(counts.incomplete) +
                          ", \"other_clock\": " + std::to_string(counts.other_clock) +
                          ", \"without_call\": " + std::to_string(counts.without_call) + "}}");
  profiler::add_entry("deviceProperties", devices_.to_json());
  profiler::add_entry("cupti_version", std::to_string(library_->version));
  if (const auto version = cuda_runtime_version()) {
    profiler::add_entry("cuda_runtime_version", std::to_string(*version));
  }
  if (const auto version = cuda_driver_version()) {
    profiler::add_entry("cuda_driver_version", std::to_string(*version));
  }
}

void CuptiSource::refuse(const std::string& why) {
  profiler::add_entry("redline", "{\"gpu\": {\"off\": " + trace::json_string(why) + "}}");
  if (has_warned_) return;
  has_warned_ = true;
  std::fprintf(stderr, "redline: no GPU activity in the trace: %s\n", why.c_str());
}

}  // namespace redline::cupti

namespace redline::profiler {

bool wants_external_ids() noexcept {
  return cupti::shared().ids.load(std::memory_order_acquire) != nullptr;
}

void push_external_id(ExternalIdKind kind, uint64_t id, std::string_view name) noexcept {
  const cupti::Library* library = cupti::shared().ids.load(std::memory_order_acquire);
  if (library == nullptr) return;
  const bool is_annotation = kind == ExternalIdKind::kAnnotation;
  try {
    if (is_annotation) cupti::shared().annotations.add(static_cast<uint32_t>(id), name);
  } catch (const std::exception&) {
    // No memory for the name: its span is called "(name not kept)".
  }
  static_cast<void>(
      library->push_external_id(is_annotation ? cupti::kAnnotationIds : cupti::kOperatorIds, id));
}

void pop_external_id(ExternalIdKind kind) noexcept {
  const cupti::Library* library = cupti::shared().pops.load(std::memory_order_acquire);
  if (library == nullptr) return;
  uint64_t last = 0;
  static_cast<void>(library->pop_external_id(
      kind == ExternalIdKind::kAnnotation ? cupti::kAnnotationIds : cupti::kOperatorIds, &last));
}

}  // namespace redline::profiler
