// A disk that is full, for tests: no file of this process may grow beyond a size.
#pragma once

#include <sys/resource.h>

#include <csignal>

namespace redline::testing {

class FullDisk {
 public:
  explicit FullDisk(rlim_t most_bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit little{.rlim_cur = most_bytes, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &little);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  sighandler_t handler_;
};

}  // namespace redline::testing
