#include "profiler/session/slow_steps.h"

#include <algorithm>
#include <cstdio>

namespace redline::profiler {

int64_t SlowSteps::usual() const {
  if (seen_ < kFewest) return 0;
  auto sorted = last_;
  const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(std::min(seen_, kRemembered));
  const auto middle = sorted.begin() + (end - sorted.begin()) / 2;
  std::nth_element(sorted.begin(), middle, end);
  return *middle;
}

bool SlowSteps::is_slow(int64_t took_ns, int64_t usual_ns) const {
  return factor_ > 0 && usual_ns > 0 &&
         static_cast<double>(took_ns) > factor_ * static_cast<double>(usual_ns);
}

std::optional<std::string> SlowSteps::judge(int64_t number, int64_t took_ns, int64_t now_ns) {
  const int64_t usual_ns = usual();
  remember(took_ns);
  if (!is_slow(took_ns, usual_ns)) return std::nullopt;
  return tell(slow_, "step %lld took %.1f ms, %.1f times the median of %.1f ms", number, took_ns,
              usual_ns, now_ns);
}

std::optional<std::string> SlowSteps::tell_hanging(int64_t number, int64_t took_ns,
                                                   int64_t now_ns) {
  return tell(hanging_, "step %lld has not ended after %.1f ms, %.1f times the median of %.1f ms",
              number, took_ns, usual(), now_ns);
}

std::optional<std::string> SlowSteps::tell(Told& told, const char* form, int64_t number,
                                           int64_t took_ns, int64_t usual_ns, int64_t now_ns) {
  if (told && now_ns - *told < pause_ns_) {
    ++not_told_;
    return std::nullopt;
  }
  told = now_ns;
  char text[160];
  std::snprintf(text, sizeof(text), form, static_cast<long long>(number),
                static_cast<double>(took_ns) / 1e6,
                static_cast<double>(took_ns) / static_cast<double>(usual_ns),
                static_cast<double>(usual_ns) / 1e6);
  return text;
}

}  // namespace redline::profiler
