#include "profiler/host/host_samples.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <list>
#include <mutex>
#include <semaphore>
#include <string>

#include "base/quiet_thread.h"
#include "machine/nvml/xid_watch.h"
#include "profiler/source/counters.h"
#include "profiler/source/gpu_work.h"
#include "trace/emit/text_buffer.h"

namespace redline::profiler {
namespace {

constexpr auto kMostWaitAtEnd = std::chrono::seconds(2);
constexpr auto kSearchInterval = std::chrono::milliseconds(500);
constexpr size_t kMostXids = 100;

void submit_xid(int device, uint64_t number) {
  Record record;
  record.kind = RecordKind::kMark;
  record.begin_ns = monotonic_ns();
  record.name = intern_name("GPU " + std::to_string(device) + ": Xid " + std::to_string(number));
  record.of = SliceFields{.category = intern_name("gpu_error"),
                          .args = intern_args("\"device\": " + std::to_string(device) +
                                              ", \"Xid\": " + std::to_string(number))};
  submit(record);
}

}  // namespace

class GpuSampler::Run {
 public:
  void sample(int32_t hz) {
    try {
      sample_rounds(hz);
    } catch (const std::exception&) {
      // No memory: the trace lacks these tracks from now on.
    }
    ended_.release();
  }

  void ask_to_stop() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    wake_.notify_one();
  }
  /// Gives whether the thread has ended, or soon will.
  [[nodiscard]] bool stop(std::chrono::steady_clock::time_point until) {
    ask_to_stop();
    return ended_.try_acquire_until(until);
  }

  /// Adds the sampler's own facts to the trace, if there are any. Only for its thread until stop().
  void add_entries() const {
    if (!refusal_.empty()) {
      return add_entry("redline", R"({"nvml": {"off": )" + trace::json_string(refusal_) + "}}");
    }
    if (gpus_.empty()) return;
    const auto lost = std::ranges::count_if(gpus_, &Gpu::is_lost);
    std::string xids;
    for (const uint64_t xid : xids_) xids += (xids.empty() ? "" : ", ") + std::to_string(xid);
    add_entry("redline", "{\"nvml\": {\"gpus\": " + std::to_string(gpus_.size()) +
                             ", \"lost_gpus\": " + std::to_string(lost) +
                             ", \"lost_readings\": " + std::to_string(failures_) +
                             ", \"narrow_counters\": " + std::to_string(narrow_counters_) +
                             ", \"xids\": [" + xids + "]}}");
  }

 private:
  struct Gpu {
    int device;
    nvmlDevice_t handle;
    nvml::GpuReader reader;
    nvml::GpuReading before = {};
    bool is_lost = false;
  };

  void sample_rounds(int32_t hz) {
    const std::chrono::duration<double> interval(1.0 / hz);
    auto next_search = std::chrono::steady_clock::now();
    std::unique_lock lock(mutex_);
    do {
      lock.unlock();
      const auto now = std::chrono::steady_clock::now();
      if (now >= next_search) {
        find_gpus();
        next_search = now + kSearchInterval;
        add_known_entries();
      }
      for (Gpu& gpu : gpus_) sample_gpu(gpu);
      take_xids();
      lock.lock();
    } while (refusal_.empty() && !wake_.wait_for(lock, interval, [this] { return is_over_; }));
  }

  /// For a flight recorder, whose traces are written while the sampler goes on.
  void add_known_entries() {
    const std::lock_guard lock(mutex_);
    if (!is_over_) add_entries();  // as in sample_gpu()
  }

  void find_gpus() {
    for (const UsedGpu& used : gpus_in_use()) {
      if (std::ranges::find(gpus_, used.device, &Gpu::device) != gpus_.end()) continue;
      if (!library_ && !load()) return;
      nvmlDevice_t handle = nullptr;
      // The figures of the whole GPU are those of other people, too.
      const int status =
          used.part.empty()
              ? REDLINE_NVML(*library_, nvmlDeviceGetHandleByPciBusId_v2, used.pci_bus.c_str(),
                             &handle)
              : REDLINE_NVML(*library_, nvmlDeviceGetHandleByUUID, used.part.c_str(), &handle);
      if (status != nvml::kSuccess) continue;
      gpus_.push_back({used.device, handle, nvml::GpuReader(*library_, handle)});
      static_cast<void>(xid_watch_->add(handle));
    }
  }

  [[nodiscard]] bool load() {
    library_.emplace();
    const int status = library_->loaded() ? REDLINE_NVML(*library_, nvmlInit_v2) : nvml::kSuccess;
    if (!library_->loaded()) refusal_ = "libnvidia-ml.so.1 is not found; it comes with the driver";
    if (status != nvml::kSuccess) refusal_ = library_->error_text(status);
    if (refusal_.empty()) xid_watch_.emplace(*library_);
    return refusal_.empty();
  }

  void sample_gpu(Gpu& gpu) {
    if (gpu.is_lost) return;
    nvml::GpuReading now = gpu.reader.read(false);
    const std::lock_guard lock(mutex_);
    if (is_over_) return;  // the reading may have taken so long that another window has begun
    failures_ += now.failures;
    narrow_counters_ += now.narrow_counters;
    gpu.is_lost = now.is_lost;
    submit_samples(gpu_counters(gpu.device, gpu.before, now), now.time_ns);
    gpu.before = now;
  }

  void take_xids() {
    if (!xid_watch_) return;
    for (const auto& [handle, number] : xid_watch_->take()) {
      const std::lock_guard lock(mutex_);
      if (is_over_ || xids_.size() >= kMostXids) return;
      const auto gpu = std::ranges::find(gpus_, handle, &Gpu::handle);
      if (gpu == gpus_.end()) continue;
      xids_.push_back(number);
      submit_xid(gpu->device, number);
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_over_ = false;  // under mutex_
  std::binary_semaphore ended_{0};
  // Only for the thread; other threads read them after it has ended.
  std::optional<nvml::Library> library_;
  std::optional<nvml::XidWatch> xid_watch_;
  std::list<Gpu> gpus_;
  std::vector<uint64_t> xids_;
  uint64_t failures_ = 0;
  uint64_t narrow_counters_ = 0;
  std::string refusal_;
};

void GpuSampler::enable(const RecorderOptions& options) noexcept {
  if (options.host_samples_hz <= 0 || !options.record_gpu || run_ || !has_cuda_driver()) return;
  try {
    run_ = std::make_shared<Run>();
    const int32_t hz = options.host_samples_hz;
    thread_ = start_quiet_thread([run = run_, hz] { run->sample(hz); });
  } catch (const std::exception&) {
  }
  if (!thread_) run_.reset();
}

void GpuSampler::disable() noexcept {
  disable_until(std::chrono::steady_clock::now() + kMostWaitAtEnd);
}

void GpuSampler::ask_to_stop() noexcept {
  if (run_) run_->ask_to_stop();
}

void GpuSampler::disable_until(std::chrono::steady_clock::time_point until) noexcept {
  if (!run_) return;
  try {
    if (run_->stop(until)) {
      thread_->join();
      run_->add_entries();
    } else {
      thread_->detach();
      add_entry("redline", R"({"nvml": {"off": "NVML did not answer"}})");
    }
  } catch (const std::exception&) {
    // No memory: the trace lacks the facts about the GPUs' state.
  }
  thread_.reset();
  run_.reset();
}

}  // namespace redline::profiler
