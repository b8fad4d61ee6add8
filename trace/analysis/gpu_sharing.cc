#include "trace/analysis/gpu_sharing.h"

#include <algorithm>
#include <map>
#include <string>

namespace redline::trace {

const DeviceProperties* main_gpu(const RankSummary& rank) {
  const auto longest = std::ranges::max_element(rank.gpus, {}, &GpuUse::compute_ns);
  if (longest == rank.gpus.end() || longest->compute_ns == 0) return nullptr;
  if (!longest->properties || longest->properties->uuid.empty()) return nullptr;
  return &*longest->properties;
}

namespace {

bool works_on(const RankSummary& rank, int32_t device) {
  return std::ranges::find(rank.gpus, device, &GpuUse::device) != rank.gpus.end();
}

}  // namespace

bool GpuSharing::is_shared(size_t rank) const {
  return std::ranges::any_of(shared, [&](const std::vector<size_t>& ranks) {
    return std::ranges::find(ranks, rank) != ranks.end();
  });
}

GpuSharing find_gpu_sharing(std::span<const RankSummary* const> ranks) {
  std::map<std::string, std::vector<size_t>> users;
  bool all_known = true;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const DeviceProperties* gpu = main_gpu(*ranks[i]);
    if (gpu != nullptr) users[gpu->uuid].push_back(i);
    all_known = all_known && gpu != nullptr;
  }
  GpuSharing sharing;
  if (all_known && !ranks.empty()) sharing.gpus = std::ssize(users);
  for (const auto& [uuid, its_ranks] : users) {
    if (its_ranks.size() > 1) sharing.shared.push_back(its_ranks);
  }
  std::ranges::sort(sharing.shared);
  for (size_t i = 0; i < ranks.size(); ++i) {
    for (const DeviceProperties& device : ranks[i]->devices) {
      const auto owners = users.find(device.uuid);
      if (!device.has_context || owners == users.end() || works_on(*ranks[i], device.device)) {
        continue;
      }
      sharing.strays.push_back({i, owners->second.front()});
    }
  }
  return sharing;
}

}  // namespace redline::trace
