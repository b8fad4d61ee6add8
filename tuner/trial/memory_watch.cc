#include "tuner/trial/memory_watch.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

namespace redline::tuner {

namespace {

/// "\nVmData:\t  212904 kB"; a process may call itself "VmData:", but not at the start of a line
uint64_t bytes_of(const std::string& text, const std::string& name) {
  const size_t line = text.find("\n" + name + ":");
  if (line == std::string::npos) return 0;
  const size_t digits = text.find_first_of("0123456789", line);
  uint64_t kib = 0;
  if (digits != std::string::npos) {
    std::from_chars(text.data() + digits, text.data() + text.size(), kib);
  }
  return kib * 1024;
}

}  // namespace

MemorySizes parse_memory_sizes(const std::string& status_text) {
  return {bytes_of(status_text, "VmData"), bytes_of(status_text, "VmSize"),
          bytes_of(status_text, "VmPeak"), bytes_of(status_text, "VmRSS")};
}

void MemoryWatch::sample(const std::vector<pid_t>& processes) {
  uint64_t resident = 0;
  for (const pid_t process : processes) {
    std::ifstream file("/proc/" + std::to_string(process) + "/status");
    std::stringstream text;
    text << file.rdbuf();
    const MemorySizes sizes = parse_memory_sizes(text.str());
    resident += sizes.resident;
    add(process, sizes);
  }
  resident_ = std::max(resident_, resident);
}

void MemoryWatch::add(pid_t process, const MemorySizes& sizes) {
  if (sizes.whole < sizes.data || sizes.whole == 0) return;
  uint64_t data = sizes.data;
  const auto before = last_.find(process);
  if (before != last_.end() && sizes.whole_peak > before->second.whole_peak) {
    const uint64_t others =
        std::max(sizes.whole - sizes.data, before->second.whole - before->second.data);
    if (sizes.whole_peak > others) data = std::max(data, sizes.whole_peak - others);
  }
  last_[process] = sizes;
  peak_ = std::max(peak_, data);
}

}  // namespace redline::tuner
