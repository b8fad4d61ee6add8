// What this host has left of memory and of /dev/shm, and how much of it a trial takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tuner/trial/trial.h"

namespace redline::tuner {

struct HostRoom {
  std::optional<uint64_t> memory_bytes;  ///< available, or what its cgroup leaves if less
  std::optional<uint64_t> shm_bytes;     ///< free in /dev/shm
};
[[nodiscard]] HostRoom host_room();

/// Why `use`, a prediction, surely does not fit, which is a quarter beyond what is free:
/// "needs 12.0 GiB of /dev/shm, 8.0 GiB are free"; nothing where it does.
[[nodiscard]] std::optional<Outcome> lacking(const HostUse& use, const HostRoom& room);
[[nodiscard]] std::string lacking_text(const HostUse& use, const HostRoom& room);

/// The most that was taken since it was made, by whomever.
class HostWatch {
 public:
  HostWatch() : before_(host_room()) {}
  void sample();
  [[nodiscard]] const HostUse& most() const { return most_; }

 private:
  HostRoom before_;
  HostUse most_;
};

}  // namespace redline::tuner
