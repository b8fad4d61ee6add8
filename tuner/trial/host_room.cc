#include "tuner/trial/host_room.h"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "base/format.h"
#include "tuner/space/machine.h"

namespace redline::tuner {
namespace {

/// A configuration that is refused is lost, though it may be the best; one that does not fit costs
/// but its trial.
constexpr double kSurelyBeyond = 1.25;

bool surely_exceeds(uint64_t use, const std::optional<uint64_t>& room) {
  return room && static_cast<double>(use) > kSurelyBeyond * static_cast<double>(*room);
}

/// The number in a file, nothing for "max" or no such file.
std::optional<uint64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  uint64_t number = 0;
  return file >> number ? std::optional(number) : std::nullopt;
}

/// What the tightest cgroup (v2) around this process leaves; its page cache can be taken back.
std::optional<uint64_t> cgroup_room() {
  std::string line;
  std::ifstream file("/proc/self/cgroup");
  while (std::getline(file, line) && !line.starts_with("0::")) continue;
  if (!line.starts_with("0::")) return std::nullopt;
  std::optional<uint64_t> room;
  for (std::string group = line.substr(3); !group.empty();) {
    const std::string folder = "/sys/fs/cgroup" + group;
    const auto most = number_in(folder + "/memory.max");
    const auto used = number_in(folder + "/memory.current");
    if (most && used) {
      uint64_t cache = 0;
      std::ifstream statistics(folder + "/memory.stat");
      for (std::string name; statistics >> name;) {
        uint64_t value = 0;
        statistics >> value;
        if (name == "inactive_file") cache = value;
      }
      const uint64_t taken = *used - std::min(*used, cache);
      room = std::min(room.value_or(std::numeric_limits<uint64_t>::max()),
                      *most - std::min(*most, taken));
    }
    const size_t parent = group.rfind('/');
    group.erase(parent == std::string::npos ? 0 : parent);
  }
  return room;
}

void keep_most(uint64_t& most, const std::optional<uint64_t>& before,
               const std::optional<uint64_t>& now) {
  if (before && now && *before > *now) most = std::max(most, *before - *now);
}

}  // namespace

HostRoom host_room() {
  HostRoom room;
  room.memory_bytes = detect_machine().memory_available_bytes;
  if (const auto limited = cgroup_room()) {
    room.memory_bytes = std::min(room.memory_bytes.value_or(*limited), *limited);
  }
  struct statvfs shm {};
  if (statvfs("/dev/shm", &shm) == 0) room.shm_bytes = uint64_t{shm.f_bavail} * shm.f_frsize;
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

}  // namespace redline::tuner
