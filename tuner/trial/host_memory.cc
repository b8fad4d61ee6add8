#include "tuner/trial/host_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/file.h"
#include "base/format.h"
#include "machine/kernel_text.h"
#include "machine/resources.h"

namespace redline::tuner {
namespace {

/// A configuration that is refused is lost, though it may be the best. One that does not fit only
/// costs its trial. So only a clear excess is refused.
constexpr double kSurelyBeyond = 1.25;

bool surely_exceeds(uint64_t use, const std::optional<uint64_t>& room) {
  return room && static_cast<double>(use) > kSurelyBeyond * static_cast<double>(*room);
}

void keep_most(uint64_t& most, const std::optional<uint64_t>& before,
               const std::optional<uint64_t>& now) {
  if (before && now && *before > *now) most = std::max(most, *before - *now);
}

}  // namespace

HostRoom host_room() {
  HostRoom room;
  room.memory_bytes = machine::memory().usable_now_bytes();
  if (const auto shm = machine::shared_memory()) room.shm_bytes = shm->free_bytes;
  return room;
}

std::optional<Outcome> lacking(const HostUse& use, const HostRoom& room) {
  if (surely_exceeds(use.shm_bytes, room.shm_bytes)) return Outcome::kShmFull;
  if (surely_exceeds(use.memory_bytes, room.memory_bytes)) return Outcome::kHostOom;
  return std::nullopt;
}

std::string lacking_text(const HostUse& use, const HostRoom& room) {
  const bool shm = lacking(use, room) == Outcome::kShmFull;
  return fmt::format("not started: needs {} of {}, {} free",
                     format_bytes(shm ? use.shm_bytes : use.memory_bytes),
                     shm ? "/dev/shm" : "host memory",
                     format_bytes((shm ? room.shm_bytes : room.memory_bytes).value_or(0)));
}

void HostWatch::sample() {
  const HostRoom now = host_room();
  keep_most(most_.memory_bytes, before_.memory_bytes, now.memory_bytes);
  keep_most(most_.shm_bytes, before_.shm_bytes, now.shm_bytes);
}

MemorySizes parse_memory_sizes(const std::string& status_text) {
  const auto bytes = [&](std::string_view key) {
    return static_cast<uint64_t>(machine::kibibytes_of(status_text, key).value_or(0));
  };
  return {bytes("VmData:"), bytes("VmSize:"), bytes("VmPeak:"), bytes("VmRSS:")};
}

void MemoryWatch::sample(const std::vector<pid_t>& processes) {
  uint64_t resident = 0;
  for (const pid_t process : processes) {
    const MemorySizes sizes =
        parse_memory_sizes(read_file("/proc/" + std::to_string(process) + "/status"));
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
