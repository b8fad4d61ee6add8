#include "tuner/space/machine.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace redline::tuner {
namespace {

/// What CUDA_VISIBLE_DEVICES lets through of the driver's GPUs.
int visible_gpus() {
  std::error_code ignored;
  if (!std::filesystem::exists("/dev/nvidiactl", ignored)) return 0;
  int present = 0;
  for (const auto& gpu : std::filesystem::directory_iterator("/proc/driver/nvidia/gpus", ignored)) {
    present += gpu.is_directory(ignored) ? 1 : 0;
  }
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible == nullptr) return present;
  const std::string_view names(visible);
  if (names.empty() || names.front() == '-') return 0;
  return std::min(present, 1 + static_cast<int>(std::count(names.begin(), names.end(), ',')));
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
  const int gpus = visible_gpus();
  return {.gpu = gpus > 0,
          .gpus = gpus,
          .cores = usable_cores(),
          .memory_available_bytes = memory_available()};
}

}  // namespace redline::tuner
