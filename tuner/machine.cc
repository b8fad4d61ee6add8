#include "tuner/machine.h"

#include <sched.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace redline::tuner {
namespace {

bool has_visible_gpu() {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible && (*visible == '\0' || *visible == '-')) return false;
  std::error_code ignored;
  return std::filesystem::exists("/dev/nvidiactl", ignored) &&
         std::filesystem::exists("/proc/driver/nvidia/version", ignored);
}

int usable_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return CPU_COUNT(&set);
}

std::optional<uint64_t> memory_available() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  uint64_t kibibytes = 0;
  for (std::string unit; file >> name >> kibibytes; std::getline(file, unit)) {
    if (name == "MemAvailable:") return kibibytes * 1024;
  }
  return std::nullopt;
}

}  // namespace

Machine detect_machine() {
  return {.gpu = has_visible_gpu(),
          .cores = usable_cores(),
          .memory_available_bytes = memory_available()};
}

}  // namespace redline::tuner
