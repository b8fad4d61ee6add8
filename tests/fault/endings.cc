// A program that ends in the way that its first argument says. The second argument is a folder for
// its trace; without it the program is not recorded.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "profiler/redline.h"
#include "profiler/source/source.h"

namespace {

/// Ends the program as a signal handler does that comes within a call of the recorder.
class Exits final : public redline::profiler::Source {
 public:
  void enable(const redline::RecorderOptions&) noexcept override { std::exit(7); }
  void disable() noexcept override {}
};

void work() {
  for (int i = 0; i < 1000; ++i) const redline::range range("work");
}

bool is_on_disk(const std::string& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.file_size() > 1000) return true;
  }
  return false;
}

int end(const std::string& how) {
  static Exits exits;
  if (how == "exit in a call") redline::profiler::add_source(&exits);
  if (how == "exit") std::exit(3);
  if (how == "_exit") _exit(4);
  if (how == "quick_exit") std::quick_exit(5);
  if (how == "abort") std::abort();
  if (how == "throw") throw std::runtime_error("the program's own");
  if (how == "SIGTERM") std::raise(SIGTERM);
  if (how == "SIGINT") std::raise(SIGINT);
  if (how == "SIGSEGV") std::raise(SIGSEGV);
  // Their handler only wakes another thread, which ends the process.
  if (how == "SIGTERM" || how == "SIGINT") pause();
  return 6;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "return";
  if (argc <= 2) return end(how);
  const std::string folder = argv[2];
  static redline::Profiler profiler({.on_trace_ready = redline::write_chrome_trace(folder)});
  redline_finish_on_termination();
  work();
  const bool cuts_short = how == "_exit" || how == "exit in a call";
  while (cuts_short && !is_on_disk(folder)) work();
  std::puts("worked");
  std::fflush(stdout);
  return end(how);
}
