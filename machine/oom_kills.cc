#include "machine/oom_kills.h"

#include "base/file.h"
#include "base/integer.h"
#include "machine/kernel_text.h"

namespace redline::machine {

int64_t oom_kills(const std::string& root) {
  return leading_integer(value_of(read_file(root + "/proc/vmstat"), "oom_kill ")).value_or(0);
}

void RecentOomKills::add(int64_t now_ns, int64_t kills) {
  constexpr int64_t kLatelyNs = 10'000'000'000;
  readings_.push_back({now_ns, kills});
  while (readings_.size() > 1 && readings_[1].time_ns <= now_ns - kLatelyNs) readings_.pop_front();
}

bool RecentOomKills::have_risen_to(int64_t kills) const {
  return !readings_.empty() && kills > readings_.front().kills;
}

}  // namespace redline::machine
