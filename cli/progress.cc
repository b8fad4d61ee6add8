#include "cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace redline::cli {

ProgressBar::ProgressBar(std::string what)
    : what_(std::move(what)), is_terminal_(isatty(STDERR_FILENO) != 0) {}

ProgressBar::~ProgressBar() {
  if (percent_ >= 0) std::fputs("\r\x1b[K", stderr);
}

void ProgressBar::show(uint64_t done, uint64_t total) {
  if (!is_terminal_ || total == 0) return;
  constexpr int kWidth = 40;
  const int percent = static_cast<int>(std::min(done, total) * 100 / total);
  if (percent == percent_) return;
  percent_ = percent;
  const auto full = static_cast<size_t>(percent * kWidth / 100);
  const std::string bar = std::string(full, '#') + std::string(kWidth - full, '.');
  std::fprintf(stderr, "\r%-12s [%s] %3d %%", what_.c_str(), bar.c_str(), percent);
  std::fflush(stderr);
}

}  // namespace redline::cli
