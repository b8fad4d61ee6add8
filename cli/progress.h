// A progress bar on a terminal, silence elsewhere.
#pragma once

#include <cstdint>
#include <string>

namespace redline::cli {

/// One line on stderr, drawn again when its percentage changes and wiped at the end.
class ProgressBar {
 public:
  explicit ProgressBar(std::string what);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void show(uint64_t done, uint64_t total);

 private:
  std::string what_;
  bool is_terminal_;
  int percent_ = -1;
};

}  // namespace redline::cli
