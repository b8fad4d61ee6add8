#include "tuner/space/machine.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "machine/resources.h"

namespace redline::tuner {
namespace {

/// What CUDA_VISIBLE_DEVICES lets through of the driver's GPUs.
int visible_gpus(const std::string& root) {
  std::error_code ignored;
  if (!std::filesystem::exists(root + "/dev/nvidiactl", ignored)) return 0;
  int present = 0;
  for (const auto& gpu :
       std::filesystem::directory_iterator(root + "/proc/driver/nvidia/gpus", ignored)) {
    present += gpu.is_directory(ignored) ? 1 : 0;
  }
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible == nullptr) return present;
  const std::string_view names(visible);
  if (names.empty() || names.front() == '-') return 0;
  return std::min(present, 1 + static_cast<int>(std::count(names.begin(), names.end(), ',')));
}

}  // namespace

Machine detect_machine(const std::string& root) {
  const int gpus = visible_gpus(root);
  return {.gpu = gpus > 0, .gpus = gpus, .cores = machine::cores(root).usable()};
}

}  // namespace redline::tuner
