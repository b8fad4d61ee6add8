#include "tuner/show/table.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/format.h"

namespace redline::tuner {

void put(std::FILE* stream, const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stream);
  std::fflush(stream);
}

LiveLine::LiveLine(const char* unit)
    : unit_(unit), on_(is_screen(STDERR_FILENO)), style_(style_of(STDERR_FILENO)) {}

void LiveLine::start(int64_t id, const std::string& what, std::chrono::nanoseconds time_left) {
  const auto now = std::chrono::steady_clock::now();
  ends_ = now + time_left;
  running_[id] = {what, now, {}};
  show(id, {.phase = "starting", .steps = 0, .samples_per_s = {}});
}

void LiveLine::show(int64_t id, const TrialProgress& progress) {
  running_[id].progress = progress;
  if (!on_) return;
  const size_t most = std::min(kTerminalColumns, screen_size(STDERR_FILENO).columns);
  put(stderr, "\r\x1b[K" + style_.left(text(), most - 1));  // a full line would move the cursor on
}

std::string LiveLine::text() const {
  const auto now = std::chrono::steady_clock::now();
  const std::string dot = style_.shown(" · ");
  std::string text = running_.size() == 1 ? "trial " : "trials ";
  for (const auto& [id, trial] : running_) {
    const TrialProgress& progress = trial.progress;
    text += fmt::format("{} {} {}", id, progress.phase, format_wait(now - trial.began));
    if (progress.samples_per_s) {
      text += fmt::format(" {} {}", format_number(*progress.samples_per_s), unit_);
    }
    text += dot;
  }
  if (ends_ > now) text += format_wait(ends_ - now) + " left" + dot;
  return text + running_.rbegin()->second.what;
}

void LiveLine::clear() {
  if (!on_) return;
  put(stderr, "\r\x1b[K");
}

}  // namespace redline::tuner
