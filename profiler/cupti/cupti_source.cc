#include "profiler/cupti/cupti_source.h"

#include <chrono>
#include <cstdio>
#include <exception>
#include <string_view>
#include <utility>

#include "machine/nvml/nvml_library.h"
#include "profiler/cupti/activity_text.h"
#include "profiler/cupti/stream_names.h"
#include "profiler/log/quiet_thread.h"
#include "trace/emit/text_buffer.h"

namespace redline::cupti {
namespace {

constexpr int kFlushIntervalMs = 500;
constexpr auto kMostWaitAtEnd = std::chrono::seconds(2);

/// Not every version knows each of them.
void set_attribute(const Library& cupti, int attribute, uint8_t value) {
  size_t size = sizeof(value);
  if (cupti.set_attribute == nullptr) return;
  static_cast<void>(cupti.set_attribute(attribute, &size, &value));
}

void buffer_requested(uint8_t** buffer, size_t* size, size_t* most_records) {
  SharedState& shared = shared_state();
  *buffer = shared.pool.take(shared.may_refuse.load(std::memory_order_relaxed));
  *size = *buffer != nullptr ? BufferPool::kBufferBytes : 0;
  *most_records = 0;  // as many as fit
}

void buffer_completed(void*, uint32_t, uint8_t* buffer, size_t, size_t valid_size) {
  if (buffer != nullptr) shared_state().pool.complete(buffer, valid_size);
}

/// Records nothing of the functions of that domain that are noise. CUPTI numbers them as it likes.
void leave_out(const Library& cupti, int domain, Result (*record)(uint32_t, uint8_t),
               bool (*is_noise)(std::string_view)) {
  constexpr uint32_t kMostFunctions = 2048;  // 13.5 has 900 of the driver
  for (uint32_t number = 1; record != nullptr && number < kMostFunctions; ++number) {
    const char* name = nullptr;
    if (cupti.get_callback_name(domain, number, &name) != kSuccess || name == nullptr) continue;
    if (is_noise(name)) static_cast<void>(record(number, 0));
  }
}

std::string in_use_by(const std::string& tool) {
  return tool +
         " uses CUPTI in this process, which serves one tool at a time; the next window tries "
         "again";
}

}  // namespace

std::string CuptiSource::explain(const Library& library, Result result) {
  switch (result) {
    case kMultipleSubscribers:
      return in_use_by(other_tool());
    case kInsufficientPrivileges:
    case kVirtualizedInsufficientPrivileges:
      return "only root may read GPU activity here: load the driver with "
             "NVreg_RestrictProfilingToAdminUsers=0";
    case kNotInitialized:
      return "the CUDA driver does not start, or is too old for " + library.path;
    case kConfidentialComputing:
      return "the GPU is in confidential-computing mode";
    case kMigNotSupported:
      return "this CUPTI does not support a part of a GPU (MIG)";
    case kWslNotSupported:
      return "this driver does not let CUPTI work under WSL";
    case kUnknown:
      return library.path + ": " + library.error_text(result) +
             ", as where the driver does not start: see `redline doctor`";
    default:
      return library.path + ": " + library.error_text(result);
  }
}

void CuptiSource::enable(const RecorderOptions& options) noexcept {
  if (!options.record_gpu || reader_) return;
  try {
    begin(options);
  } catch (const std::exception& failure) {
    refuse(failure.what());
  }
  if (!thread_) leave_cupti();
}

void CuptiSource::disable() noexcept {
  if (!reader_) return;
  try {
    end();
  } catch (const std::exception& failure) {
    refuse(failure.what());
  }
  leave_cupti();
}

/// Also of what was only begun.
void CuptiSource::leave_cupti() {
  disable_kinds();
  reader_.reset();
  if (!library_) return;
  // The next user's buffers may hold anything.
  if (std::exchange(gives_zeroed_buffers_, false)) set_attribute(*library_, kZeroedBuffers, 0);
  subscription_.release(*library_);
}

void CuptiSource::begin(const RecorderOptions& options) {
  if (!library_) {
    auto found = find_library();
    if (!found) return refuse(found.error());
    library_ = std::move(*found);
    if (!library_) return;  // no CUDA here
  }
  if (const std::string tool = subscription_.take(*library_); !tool.empty()) {
    return refuse(in_use_by(tool));
  }
  if (const Result result = set_up(); result != kSuccess) {
    return refuse(explain(*library_, result));
  }
  SharedState& shared = shared_state();
  shared.pool.warm_up();
  for (const auto& [buffer, size] : shared.pool.take_filled()) shared.pool.give_back(buffer);
  shared.annotations.clear();
  shared.collectives.clear();
  refused_before_ = shared.pool.refused();
  dropped_ = 0;
  failed_flush_ = kSuccess;
  devices_ = {};
  if (const Result result = enable_kinds(options); result != kSuccess) {
    return refuse(explain(*library_, result));
  }
  reader_ = std::make_unique<ActivityReader>(
      *library_, shared.pool,
      Activities(*library_, devices_, shared.annotations, shared.collectives), folder_);
  is_closing_ = false;
  if (reader_->start()) thread_ = profiler::start_quiet_thread([this] { run(*reader_); });
  if (!thread_) return refuse("the system has no thread left");
  shared.pops = &*library_;
  shared.ids = &*library_;
}

/// For each window anew: another user of CUPTI, such as torch.profiler, may have put its own in the
/// place of ours, or ended CUPTI.
Result CuptiSource::set_up() {
  const Library& cupti = *library_;
  shared_state().may_refuse = cupti.version >= kVersion12_9;
  gives_zeroed_buffers_ = true;
  // None of these is worth losing the GPU for.
  for (const int attribute : {kZeroedBuffers, kBuffersByThread}) set_attribute(cupti, attribute, 1);
  // Else each look whether an event is over, which threads do all the time, is a record.
  if (cupti.enable_all_waits != nullptr) static_cast<void>(cupti.enable_all_waits(0));
  static_cast<void>(cupti.set_thread_id_type(kSystemThreadIds));
  return cupti.register_callbacks(buffer_requested, buffer_completed);
}

/// What a GPU or driver does not serve of the kinds that are not needed is left out.
Result CuptiSource::enable_kinds(const RecorderOptions& options) {
  const bool wants_state = options.host_samples_hz > 0 && !nvml::Library().loaded();
  if (options.profile_memory) configure_unified_memory();
  Result result = kSuccess;
  any_kind([&](const auto& row) {
    const bool is_wanted = row.asked == Asked::kAlways ||
                           (row.asked == Asked::kWithMemory && options.profile_memory) ||
                           (row.asked == Asked::kInPlaceOfNvml && wants_state);
    if (!is_wanted) return false;
    const Result enabled = library_->enable(row.kind);
    if (enabled == kSuccess) enabled_.push_back(row.kind);
    if (enabled != kSuccess && row.is_needed) result = enabled;
    return result != kSuccess;
  });
  if (result == kSuccess) leave_out_noise();
  return result;
}

/// Each record costs the job; what is called between any two launches is asked to write none.
/// After its domain, which switches on all of it.
void CuptiSource::leave_out_noise() {
  leave_out(*library_, kRuntimeDomain, library_->record_runtime_function,
            [](std::string_view name) { return is_noise(runtime_function_name(name)); });
  leave_out(*library_, kDriverDomain, library_->record_driver_function, is_driver_noise);
}

void CuptiSource::configure_unified_memory() {
  if (library_->configure_unified_memory == nullptr) return;
  std::vector<UnifiedMemoryConfig> wanted;
  for (uint32_t device = 0; device < DeviceTable::count(); ++device) {
    for (const uint32_t counter :
         {kUnifiedHostToDevice, kUnifiedDeviceToHost, kUnifiedCpuFaults, kUnifiedGpuFaults}) {
      wanted.push_back({.counter = counter, .device = device});
    }
  }
  static_cast<void>(
      library_->configure_unified_memory(wanted.data(), static_cast<uint32_t>(wanted.size())));
}

void CuptiSource::disable_kinds() {
  for (const Kind kind : enabled_) static_cast<void>(library_->disable(kind));
  enabled_.clear();
}

void CuptiSource::run(ActivityReader& reader) {
  try {
    while (!is_closing_) {
      shared_state().pool.wait(kFlushIntervalMs);
      if (is_closing_) break;
      const bool is_forced = wants_flush_.exchange(false);
      collect(reader, is_forced ? kFlushForced : 0);
      if (is_forced) is_flushed_.release();
    }
  } catch (const std::exception&) {
    // No memory: the trace goes on without what comes now; its counts tell.
  }
  is_over_.release();
}

void CuptiSource::collect(ActivityReader& reader, uint32_t flush_flags) {
  const Result flushed = library_->flush_all(flush_flags);
  if (flushed != kSuccess) failed_flush_ = flushed;
  reader.add_filled(flushed == kSuccess);
  shared_state().pool.warm_up();
  size_t dropped = 0;
  if (library_->get_dropped(nullptr, 0, &dropped) == kSuccess) dropped_ += dropped;
}

void CuptiSource::stop_thread() {
  shared_state().ids = nullptr;
  is_closing_ = true;
  shared_state().pool.wake();
  is_over_.acquire();
  thread_->join();
  thread_.reset();
}

void CuptiSource::flush_before_exit() noexcept {
  if (!reader_) return;
  wants_flush_ = true;
  shared_state().pool.wake();
  // Work that never ends must not keep the process.
  static_cast<void>(is_flushed_.try_acquire_for(kMostWaitAtEnd));
}

void CuptiSource::let_go() noexcept {
  if (!reader_) return;
  shared_state().ids = nullptr;
  is_closing_ = true;
  shared_state().pool.wake();
  // It may wait within CUPTI for a thread that has crashed, and look at the reader once more then.
  const bool is_over = is_over_.try_acquire_for(kMostWaitAtEnd);
  is_over ? thread_->join() : thread_->detach();
  thread_.reset();
  try {
    if (is_over) reader_->add_last();
    reader_->finish();
    stream_names().deliver_all();
    add_entries();
  } catch (const std::exception&) {
    // No memory: the trace ends a little earlier.
  }
  if (!is_over) static_cast<void>(reader_.release());
  reader_.reset();
}

void CuptiSource::end() {
  stop_thread();
  // What was launched within the window is part of it; that we wait for it is not.
  static_cast<void>(library_->disable(Kind::kSynchronization));
  waits_for_gpus_ = true;
  synchronize_devices();
  waits_for_gpus_ = false;
  disable_kinds();
  // It may write to disk, where a limit raises SIGXFSZ.
  const auto rest = [this] { collect_rest(); };
  if (!profiler::run_quietly(rest)) rest();
  reader_->finish();
  stream_names().deliver_all();
  add_entries();
  if (failed_flush_ == kSuccess) return;
  warn("CUPTI did not hand over all its records: " + explain(*library_, failed_flush_));
}

void CuptiSource::collect_rest() noexcept {
  try {
    collect(*reader_, 0);
    collect(*reader_, kFlushForced);
  } catch (const std::exception&) {
    // No memory: the trace ends a little earlier.
  }
}

void CuptiSource::add_entries() {
  const ActivityCounts& counts = reader_->activities().counts();
  const uint64_t refused = shared_state().pool.refused() - refused_before_;
  const std::string why = failed_flush_ != kSuccess ? explain(*library_, failed_flush_) : "";
  const std::string failed_flush =
      why.empty() ? "" : ", \"failed_flush\": " + trace::json_string(why);
  profiler::add_entry(
      "redline",
      "{\"gpu\": {\"records\": " + std::to_string(counts.decoded.records) + ", \"dropped\": " +
          std::to_string(dropped_) + ", \"buffers_refused\": " + std::to_string(refused) +
          ", \"unknown\": " + std::to_string(counts.decoded.unknown) +
          ", \"truncated\": " + std::to_string(counts.decoded.truncated) +
          ", \"incomplete\": " + std::to_string(counts.incomplete) +
          ", \"other_clock\": " + std::to_string(counts.other_clock) +
          ", \"without_call\": " + std::to_string(counts.without_call) +
          ", \"spooled_bytes\": " + std::to_string(reader_->spooled_bytes()) +
          ", \"streams\": " + reader_->activities().streams_json() + failed_flush + "}}");
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
  warn("no GPU activity in the trace: " + why);
}

/// Once.
void CuptiSource::warn(const std::string& why) {
  if (!has_warned_) std::fprintf(stderr, "redline: %s\n", why.c_str());
  has_warned_ = true;
}

}  // namespace redline::cupti
