// Which autotune process runs which trial of a study, so that several can share it.
//
// A claim is a row with a heartbeat. A claimer whose process is gone loses its trials at once, one
// that cannot be seen from here (another container) or that hangs when its heartbeat is old.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tuner/study/database.h"

namespace redline::tuner {

constexpr const char* kClaimsSchema =
    "CREATE TABLE IF NOT EXISTS claims (trial INTEGER PRIMARY KEY, claimer TEXT NOT NULL, "
    "heartbeat_ns INTEGER NOT NULL)";

class Claims {
 public:
  /// How often beat() is to be called, and how old a heartbeat proves its claimer dead.
  static constexpr int64_t kBeatEveryNs = 5'000'000'000;
  static constexpr int64_t kDeadAfterNs = 30'000'000'000;

  /// Of this process.
  Claims();

  [[nodiscard]] Result<void> add(const Database& database, int64_t trial) const;
  [[nodiscard]] Result<bool> holds(const Database& database, int64_t trial) const;
  [[nodiscard]] Result<void> remove(const Database& database, int64_t trial) const;
  [[nodiscard]] Result<void> beat(const Database& database) const;

  /// Trials whose claimer is dead.
  [[nodiscard]] Result<std::vector<int64_t>> orphans(const Database& database) const;

 private:
  std::string claimer_;  // "PID-NAMESPACE PID START"
};

}  // namespace redline::tuner
