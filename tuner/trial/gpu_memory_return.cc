#include "tuner/trial/gpu_memory_return.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "base/format.h"

namespace redline::tuner {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kMemoryPoll{100};
constexpr uint64_t kMargin = uint64_t{64} << 20;  // what the driver itself takes now and then

std::string process_text(unsigned pid) {
  std::string name;
  std::getline(std::ifstream(fmt::format("/proc/{}/comm", pid)), name);
  return name.empty() ? fmt::format("process {}", pid) : fmt::format("process {} ({})", pid, name);
}

std::string holders_text(const std::vector<unsigned>& holders) {
  if (holders.empty()) return "by no process that is visible here";
  std::string text = "by ";
  for (size_t i = 0; i < holders.size(); ++i) {
    text += (i == 0 ? "" : ", ") + process_text(holders[i]);
  }
  return text;
}

}  // namespace

std::vector<uint64_t> GpuMemoryReturn::kept() const {
  const std::vector<std::optional<uint64_t>> now = gpus_.memory_used();
  std::vector<uint64_t> more(now.size(), 0);
  for (size_t gpu = 0; gpu < now.size(); ++gpu) {
    const bool told = now[gpu] && before_[gpu];
    if (told && *now[gpu] > *before_[gpu] + kMargin) more[gpu] = *now[gpu] - *before_[gpu];
  }
  return more;
}

std::vector<std::string> GpuMemoryReturn::wait(std::chrono::nanoseconds patience,
                                               const std::atomic<StopRequest>& stop) const {
  const auto begin = Clock::now();
  std::vector<uint64_t> more = kept();
  while (std::any_of(more.begin(), more.end(), [](uint64_t bytes) { return bytes > 0; }) &&
         Clock::now() - begin < patience && stop != StopRequest::kKill) {
    std::this_thread::sleep_for(kMemoryPoll);
    more = kept();
  }
  std::vector<std::string> held;
  for (size_t gpu = 0; gpu < more.size(); ++gpu) {
    if (more[gpu] == 0) continue;
    held.push_back(fmt::format("GPU {} holds {} more than before the trial: {}", gpus_.name(gpu),
                               format_bytes(more[gpu]), holders_text(gpus_.holders(gpu))));
  }
  return held;
}

}  // namespace redline::tuner
