#include "tuner/trial/share.h"

#include <fmt/format.h>

#include <cstdlib>
#include <sstream>

#include "machine/resources.h"

namespace redline::tuner {
namespace {

/// 0,1,2,5 as "0-2,5".
std::string ranges_text(const std::vector<int>& numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", numbers[i]);
    if (last > i) text += fmt::format("-{}", numbers[last]);
    i = last + 1;
  }
  return text;
}

template <typename Value>
std::vector<Value> part(const std::vector<Value>& all, size_t index, size_t size) {
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(index * size);
  return {begin, begin + static_cast<std::ptrdiff_t>(size)};
}

std::vector<std::string> gpu_names() {
  std::vector<std::string> names;
  const int count = detect_machine().gpus;
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES"); visible && count > 0) {
    std::istringstream words(visible);
    for (std::string name; std::getline(words, name, ',');) names.push_back(name);
    return names;
  }
  for (int gpu = 0; gpu < count; ++gpu) names.push_back(std::to_string(gpu));
  return names;
}

}  // namespace

std::string Share::text() const {
  std::string text;
  if (!gpus.empty()) text = fmt::format("GPU {}", fmt::join(gpus, ","));
  if (cores.empty()) return text.empty() ? "the whole machine" : text;
  return fmt::format("{}{}core{} {}", text, text.empty() ? "" : ", ", cores.size() == 1 ? "" : "s",
                     ranges_text(cores));
}

Devices detect_devices() { return {.gpus = gpu_names(), .cores = machine::cores().allowed}; }

tl::expected<std::vector<Share>, std::string> split(const Devices& devices, int parallel) {
  const auto count = static_cast<size_t>(parallel);
  if (count <= 1) return std::vector<Share>(1);
  const bool has_gpus = !devices.gpus.empty();
  const size_t most = has_gpus ? devices.gpus.size() : devices.cores.size();
  if (count > most) {
    return tl::unexpected(
        fmt::format("--parallel {}: each trial needs a {} of its own, and {} {} "
                    "visible. Give at most --parallel {}",
                    parallel, has_gpus ? "GPU" : "core", most, most == 1 ? "is" : "are",
                    std::max<size_t>(most, 1)));
  }
  std::vector<Share> shares(count);
  for (size_t i = 0; i < count; ++i) {
    if (has_gpus) shares[i].gpus = part(devices.gpus, i, devices.gpus.size() / count);
    if (devices.cores.size() >= count) {
      shares[i].cores = part(devices.cores, i, devices.cores.size() / count);
    }
  }
  return shares;
}

Machine machine_of(const Share& share, Machine machine) {
  if (!share.gpus.empty()) machine.gpus = static_cast<int>(share.gpus.size());
  if (!share.cores.empty()) machine.cores = static_cast<int>(share.cores.size());
  return machine;
}

}  // namespace redline::tuner
