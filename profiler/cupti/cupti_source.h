// The GPU as a source of the recorder: CUPTI is switched on at prepare and off at stop, and a
// thread of the recorder turns what it fills into records meanwhile.
//
// CUPTI's calls are made without a lock that its callbacks take. What can be set only once in a
// process (callbacks, clock, thread ids) is set once: asking again makes CUPTI lose the first
// kernels of each later window.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "profiler/cupti/activities.h"
#include "profiler/cupti/annotation_names.h"
#include "profiler/cupti/buffer_pool.h"
#include "profiler/cupti/cupti_library.h"
#include "profiler/cupti/device_table.h"
#include "profiler/source.h"

namespace redline::cupti {

class CuptiSource final : public profiler::Source {
 public:
  void enable(const profiler::SourceOptions& options) noexcept override;
  void disable() noexcept override;
  /// The process ends: CUDA may be half gone, so CUPTI is not asked for anything any more; what it
  /// has handed over is recorded.
  void let_go() noexcept;

  /// What cannot be recorded is said once a process, on stderr.
  [[nodiscard]] static std::string explain(const Library& library, Result result);

 private:
  void begin();
  void end();
  [[nodiscard]] tl::expected<void, std::string> set_up();
  [[nodiscard]] Result enable_kinds();
  void disable_kinds();
  void run();
  void run_rounds();
  void stop_thread();
  void read_round(bool is_flushed);
  void finish_window();
  void refuse(const std::string& why);
  void add_entries();

  std::optional<Library> library_;
  bool is_set_up_ = false;
  bool has_warned_ = false;
  std::vector<Kind> enabled_;
  uint64_t refused_before_ = 0;
  uint64_t dropped_ = 0;
  DeviceTable devices_;
  std::unique_ptr<Activities> activities_;
  std::atomic<bool> is_closing_ = false;
  std::optional<std::thread> thread_;
  std::binary_semaphore is_over_{0};  ///< the thread has left its loop
};

}  // namespace redline::cupti
