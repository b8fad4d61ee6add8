// A source as the first of its process finds CUPTI, for tests.
#pragma once

#include <memory>
#include <string>

#include "profiler/cupti/cupti_source.h"
#include "profiler/cupti/testing_window.h"

namespace redline::cupti {

class FreshSource : public GpuWindow {
 protected:
  /// The trace of a window in which the source was on, with one range of the CPU and one kernel.
  [[nodiscard]] nlohmann::json recorded() {
    begin(false);
    ::testing::internal::CaptureStderr();
    source_.enable({});
    subscriber_ = stub::subscriber();
    redline_range_push("on the CPU");
    redline_range_pop();
    if (stub::is_enabled(Kind::kConcurrentKernel)) {
      const uint64_t begun = now();
      stub::call(launch_call(1, begun));
      stub::emit_record(kernel(1, begun + 500));
    }
    source_.disable();
    said_ = ::testing::internal::GetCapturedStderr();
    return end();
  }

  /// A source that found this version of CUPTI, within a window.
  [[nodiscard]] std::unique_ptr<CuptiSource> window_of_version(uint32_t version) {
    stub::reset_cupti();
    stub::set_cupti_version(version);
    auto fresh = std::make_unique<CuptiSource>();
    begin(false);
    fresh->enable({});
    return fresh;
  }

  static constexpr std::chrono::milliseconds kShortWait{20};

  CuptiSource source_{kShortWait};
  std::string said_;
  std::string subscriber_;  ///< of CUPTI in the window
};

}  // namespace redline::cupti
