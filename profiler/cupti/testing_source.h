// For tests: a source that finds CUPTI as the first source of a process does.
#pragma once

#include <memory>
#include <string>

#include "profiler/cupti/cupti_source.h"
#include "profiler/cupti/testing_window.h"

namespace redline::cupti {

class FreshSource : public GpuWindow {
 protected:
  /// The trace of a window with one range on the CPU and, if CUPTI is on, one kernel.
  [[nodiscard]] nlohmann::json recorded() {
    begin(false);
    ::testing::internal::CaptureStderr();
    source_.enable({});
    subscriber_ = stub::subscriber();
    redline_range_push("on the CPU");
    redline_range_pop();
    if (stub::is_enabled(Kind::kConcurrentKernel)) {
      run_kernel();
    }
    source_.disable();
    said_ = ::testing::internal::GetCapturedStderr();
    return end();
  }

  /// Begins a window, and gives a source that is enabled with this version of CUPTI.
  [[nodiscard]] std::unique_ptr<CuptiSource> window_of_version(uint32_t version) {
    stub::reset_cupti();
    stub::set_cupti_version(version);
    auto fresh = std::make_unique<CuptiSource>(kShortWait);
    begin(false);
    fresh->enable({});
    return fresh;
  }

  static constexpr std::chrono::milliseconds kShortWait{20};

  CuptiSource source_{kShortWait};
  std::string said_;
  std::string subscriber_;  ///< who had subscribed to CUPTI during the window
};

}  // namespace redline::cupti
