#include "profiler/cupti/cupti_source.h"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <utility>

#include "base/quiet_thread.h"
#include "base/user_switch.h"
#include "machine/nvml/nvml_library.h"
#include "profiler/cupti/activity_text.h"
#include "profiler/cupti/stream_names.h"
#include "profiler/source/gpu_work.h"

namespace redline::cupti {
namespace {

constexpr size_t kFlushIntervalMs = 500;
constexpr size_t kMostFlushIntervalMs = 60'000;
constexpr int kLookForCudaMs = 50;  // a process takes longer from cuInit() to its first kernel
constexpr int kTryAgainMs = 5000;
// A surge is this many records of which more than half have no times. A forced flush brings a few
// such records early; these are far fewer.
constexpr uint64_t kSurge = 2000;
constexpr uint64_t kMostRestarts = 4;  // within one window

/// Ignores errors: not every version of CUPTI has every attribute, and we can record without each.
template <typename Value>
void set_attribute(const Library& cupti, int attribute, Value value) {
  size_t size = sizeof(value);
  if (cupti.set_attribute == nullptr) return;
  static_cast<void>(cupti.set_attribute(attribute, &size, &value));
}

/// The number that the user has set in this environment variable, if it is above 0.
std::optional<size_t> wanted(const char* variable) {
  const char* text = ::secure_getenv(variable);
  const unsigned long long number = text != nullptr ? std::strtoull(text, nullptr, 10) : 0;
  return number > 0 ? std::optional<size_t>(number) : std::nullopt;
}

/// Whether windows have synchronizations and CUDA events. They can cost more than all other
/// records, so a user may leave them out.
bool wants_waits() { return !is_set_to("REDLINE_GPU_WAITS", "off"); }

/// Whether windows have migrations of unified memory. To switch their records off, CUPTI takes 2 s,
/// in which each launch of the job waits (seen with CUPTI 13.0), and few jobs use such memory.
bool wants_unified_memory(const RecorderOptions& options) {
  return options.profile_memory && is_set_to("REDLINE_GPU_UNIFIED_MEMORY", "on");
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

/// Tells CUPTI to record no calls of functions that are noise. All numbers are tried, because each
/// version of CUPTI has its own numbers.
void leave_out(const Library& cupti, int domain, Result (*record)(uint32_t, uint8_t),
               bool (*is_noise)(std::string_view)) {
  constexpr uint32_t kMostFunctions = 2048;  // CUPTI 13.5 has 900 functions of the driver
  for (uint32_t number = 1; record != nullptr && number < kMostFunctions; ++number) {
    if (is_noise(cupti.function_name(domain, number))) static_cast<void>(record(number, 0));
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
    case kNotCompatible:
      return "another user of CUPTI in this process makes calls of a newer kind, which exclude "
             "ours, as torch's cupti_monitor does (CUPTI_ERROR_NOT_COMPATIBLE): switch it off; a "
             "window tries again";
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
  if (thread_ || !profiler::has_cuda_driver()) return;
  if (!options.record_gpu) {
    if (uses_cuda()) say_off("GPUs were left out of the recording");
    return;
  }
  is_closing_ = is_hurried_ = false;
  off_before_.clear();
  off_after_.clear();
  const bool is_on = uses_cuda() && try_to_begin(options);
  try {
    thread_ = start_quiet_thread([this, options, is_on] { run(options, is_on); });
  } catch (const std::exception&) {
  }
  if (thread_) return;
  is_on_ = false;
  leave_cupti();
  refuse("the system has no thread left");
}

void CuptiSource::disable() noexcept {
  if (!thread_) return;
  stop_thread();
  if (!is_on_.exchange(false)) return;
  try {
    end();
  } catch (const std::exception& failure) {
    refuse(failure.what());
  }
  leave_cupti();
  if (off_after_.empty() && wants_teardown(*library_)) teardown_.begin(*library_);
}

/// Switches CUPTI off, also if begin() failed halfway.
void CuptiSource::leave_cupti() {
  shared_state().ids = nullptr;
  disable_kinds();
  reader_.reset();
  if (library_) subscription_.release(*library_);
}

bool CuptiSource::try_to_begin(const RecorderOptions& options) {
  std::string why;
  try {
    const auto begun = begin(options);
    is_on_ = begun.has_value();
    if (!begun) why = begun.error();
  } catch (const std::exception& failure) {
    why = failure.what();
  }
  if (is_on_) return true;
  leave_cupti();
  if (!why.empty()) refuse(why);
  off_before_ = why;
  return false;
}

tl::expected<void, std::string> CuptiSource::begin(const RecorderOptions& options) {
  if (!library_) {
    auto found = find_library();
    if (!found) return tl::unexpected(found.error());
    library_ = std::move(*found);
    if (!library_) return tl::unexpected(std::string());  // no CUDA here
  }
  teardown_.cancel(*library_);
  if (const std::string tool = subscription_.take(*library_); !tool.empty()) {
    return tl::unexpected(in_use_by(tool));
  }
  if (const Result result = set_up(); result != kSuccess) {
    return tl::unexpected(explain(*library_, result));
  }
  SharedState& shared = shared_state();
  shared.pool.warm_up();
  for (const auto& [buffer, size] : shared.pool.take_filled()) shared.pool.give_back(buffer);
  shared.annotations.clear();
  shared.collectives.clear();
  refused_before_ = shared.pool.refused();
  foreign_before_ = shared.pool.foreign();
  out_before_ = shared.pool.out();
  dropped_ = surges_ = 0;
  seen_ = {};
  failed_flush_ = kSuccess;
  devices_ = told_devices_ = {};
  has_ring_ = options.ring_seconds > 0;
  if (const Result result = enable_kinds(options); result != kSuccess) {
    return tl::unexpected(explain(*library_, result));
  }
  reader_ = std::make_unique<ActivityReader>(
      *library_, shared.pool,
      Activities(*library_, devices_, shared.annotations, shared.collectives), folder_);
  if (!reader_->start()) return tl::unexpected(std::string("the system has no thread left"));
  shared.pops = &*library_;
  shared.ids = &*library_;
  add_known_entries();
  return {};
}

/// False if the window ended before CUPTI could be switched on.
bool CuptiSource::begin_later(const RecorderOptions& options) {
  int pause_ms = off_before_.empty() ? kLookForCudaMs : kTryAgainMs;
  for (;;) {
    shared_state().pool.wait(pause_ms);
    if (is_closing_) return false;
    if (!uses_cuda()) continue;
    if (try_to_begin(options)) return true;
    pause_ms = kTryAgainMs;
  }
}

/// Called for each window, because another user of CUPTI, such as torch.profiler, may have replaced
/// our callbacks or finalized CUPTI since the last one.
Result CuptiSource::set_up() {
  const Library& cupti = *library_;
  shared_state().may_refuse = cupti.version >= kVersion12_9;
  // We do not tell CUPTI that our buffers are zeroed (kZeroedBuffers), because it would then assume
  // this of the buffers of its other users, too.
  set_attribute(cupti, kBuffersByThread, uint8_t{1});
  // CUPTI may use so many buffers of GPU memory for kernel times; each holds 100,000 kernels.
  if (const auto count = wanted("REDLINE_GPU_STAMP_BUFFERS"))
    set_attribute(cupti, kStampBuffers, *count);
  // Otherwise CUPTI writes a record each time a thread asks whether an event is over, which some
  // threads do all the time.
  if (cupti.enable_all_waits != nullptr) static_cast<void>(cupti.enable_all_waits(0));
  has_system_thread_ids_ = cupti.set_thread_id_type(kSystemThreadIds) == kSuccess;
  return cupti.register_callbacks(buffer_requested, buffer_completed);
}

/// Fails only if a needed kind cannot be enabled. A GPU or driver may lack some of the others.
Result CuptiSource::enable_kinds(const RecorderOptions& options) {
  const bool wants_state = options.host_samples_hz > 0 && !nvml::Library().loaded();
  if (wants_unified_memory(options)) configure_unified_memory();
  Result result = kSuccess;
  any_kind([&](const auto& row) {
    const bool is_wanted = row.asked == Asked::kAlways ||
                           (row.asked == Asked::kWithWaits && wants_waits()) ||
                           (row.asked == Asked::kWithMemory && options.profile_memory) ||
                           (row.asked == Asked::kIfWished && wants_unified_memory(options)) ||
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

/// Each record costs the job time, so CUPTI shall write none for functions that are called between
/// any two launches. This must come after the kinds are enabled, which enables all functions.
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

void CuptiSource::run(const RecorderOptions& options, bool is_on) noexcept {
  try {
    if (is_on || begin_later(options)) collect_until_end();
  } catch (const std::exception&) {
    // No memory: the trace lacks the records that come now, which its counts tell.
  }
  is_over_.release();
}

void CuptiSource::collect_until_end() {
  const size_t interval_ms = wanted("REDLINE_GPU_FLUSH_MS").value_or(kFlushIntervalMs);
  while (!is_closing_) {
    shared_state().pool.wait(static_cast<int>(std::min(interval_ms, kMostFlushIntervalMs)));
    if (is_closing_) break;
    const bool is_forced = wants_flush_.exchange(false);
    collect_if_ours(is_forced);
    if (is_forced) is_flushed_.release();
  }
}

void CuptiSource::collect_if_ours(bool is_forced) {
  const std::lock_guard lock(collecting_);
  if (!off_after_.empty()) return;
  collect(is_forced ? kFlushForced : 0);
  look_for_surge();
  if (!is_closing_) add_known_entries();  // else whoever ends the window has the last word
}

void CuptiSource::collect(uint32_t flush_flags) {
  const Result flushed = library_->flush_all(flush_flags);
  if (flushed != kSuccess) failed_flush_ = flushed;
  reader_->add_filled(flushed == kSuccess);
  shared_state().pool.warm_up();
  size_t dropped = 0;
  if (library_->get_dropped(nullptr, 0, &dropped) == kSuccess) dropped_ += dropped;
}

/// CUPTI keeps times in GPU memory, which can run out in a long recording of CUDA graphs. From then
/// on kernels come without times, and only switching CUPTI off and on helps.
void CuptiSource::look_for_surge() {
  const ActivityReader::Progress now = reader_->progress();
  const uint64_t incomplete = now.incomplete - seen_.incomplete;
  const uint64_t timed = now.timed - seen_.timed;
  if (incomplete + timed < kSurge) return;
  seen_ = now;
  if (incomplete <= timed) return;
  ++surges_;
  warn(kIncomplete, "CUPTI gives most kernels without times (" + std::to_string(incomplete) +
                        " of the last " + std::to_string(incomplete + timed) +
                        " records), so the trace lacks them; CUPTI is switched on anew");
  if (surges_ > kMostRestarts) return;
  collect(kFlushForced);
  static_cast<void>(library_->disable(Kind::kConcurrentKernel));
  static_cast<void>(library_->enable(Kind::kConcurrentKernel));
}

void CuptiSource::deliver_for_ring() noexcept {
  if (!is_on_) return;
  try {
    reader_->deliver_annotations();
    stream_names().deliver_all();
  } catch (const std::exception&) {
    // No memory: the trace lacks these.
  }
}

}  // namespace redline::cupti
