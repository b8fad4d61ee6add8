#include "profiler/slow_steps.h"

#include <algorithm>
#include <cstdio>

namespace redline::profiler {

int64_t SlowSteps::median() const {
  auto sorted = last_;
  const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(std::min(seen_, kRemembered));
  const auto middle = sorted.begin() + (end - sorted.begin()) / 2;
  std::nth_element(sorted.begin(), middle, end);
  return *middle;
}

std::optional<std::string> SlowSteps::judge(int64_t number, int64_t took_ns, int64_t now_ns) {
  if (factor_ == 0) return std::nullopt;
  const int64_t usual_ns = seen_ >= kFewest ? median() : 0;
  last_[seen_++ % kRemembered] = took_ns;
  if (usual_ns == 0 || static_cast<double>(took_ns) <= factor_ * static_cast<double>(usual_ns)) {
    return std::nullopt;
  }
  if (told_ == kMostTold || (told_ns_ && now_ns - *told_ns_ < pause_ns_)) {
    ++not_told_;
    return std::nullopt;
  }
  ++told_;
  told_ns_ = now_ns;
  char text[160];
  std::snprintf(text, sizeof(text), "step %lld took %.1f ms, %.1f times the median of %.1f ms",
                static_cast<long long>(number), static_cast<double>(took_ns) / 1e6,
                static_cast<double>(took_ns) / static_cast<double>(usual_ns),
                static_cast<double>(usual_ns) / 1e6);
  return text;
}

}  // namespace redline::profiler
