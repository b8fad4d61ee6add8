#include "tuner/live_line.h"

#include <fmt/format.h>
#include <unistd.h>

namespace redline::tuner {
namespace {

constexpr size_t kWidth = 79;

}  // namespace

LiveLine::LiveLine() : on_(isatty(STDERR_FILENO) != 0), style_(style_for(STDERR_FILENO)) {}

void LiveLine::start(int64_t id, const std::string& what, std::chrono::nanoseconds time_left) {
  id_ = id;
  what_ = what;
  time_left_ = time_left;
  began_ = std::chrono::steady_clock::now();
  show({.phase = "starting", .steps = 0, .samples_per_s = {}});
}

void LiveLine::show(const TrialProgress& progress) {
  if (!on_) return;
  const std::chrono::nanoseconds spent = std::chrono::steady_clock::now() - began_;
  const std::string dot = style_.separator();
  std::string text =
      fmt::format("trial {}{}{}{}{}", id_, dot, progress.phase, dot, duration_text(spent));
  if (progress.samples_per_s) text += dot + number_text(*progress.samples_per_s) + " samples/s";
  if (time_left_ > spent) text += dot + duration_text(time_left_ - spent) + " left";
  text += dot + what_;
  fmt::print(stderr, "\r\x1b[K{}", width_of(text) > kWidth ? left(text, kWidth) : text);
  std::fflush(stderr);
}

void LiveLine::clear() {
  if (!on_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
}

}  // namespace redline::tuner
