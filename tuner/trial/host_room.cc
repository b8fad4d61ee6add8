#include "tuner/trial/host_room.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "machine/resources.h"

namespace redline::tuner {
namespace {

/// A configuration that is refused is lost, though it may be the best; one that does not fit costs
/// but its trial.
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

}  // namespace redline::tuner
