// Keeps which autotune process runs which trial, so that several processes can share a study.
//
// A claim is a row with a heartbeat. A process that is gone loses its trials at once. A process
// that hangs, or that cannot be seen from here because it is in another container, loses them when
// its heartbeat is old.
//
// Locks of the file system were rejected: a lock does not say who holds it, and on NFS it may
// outlive its holder.
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
  /// How often beat() must be called, and the age at which a heartbeat proves that its process is
  /// dead.
  static constexpr int64_t kBeatEveryNs = 5'000'000'000;
  static constexpr int64_t kDeadAfterNs = 30'000'000'000;

  /// The claims of this process.
  Claims();

  /// Each of these must be called in the transaction that also changes the trial.
  [[nodiscard]] Result<void> add(const Transaction& transaction, int64_t trial) const;
  [[nodiscard]] Result<bool> holds(const Transaction& transaction, int64_t trial) const;
  [[nodiscard]] Result<void> remove(const Transaction& transaction, int64_t trial) const;
  /// The trials whose process is dead.
  [[nodiscard]] Result<std::vector<int64_t>> orphans(const Transaction& transaction) const;

  [[nodiscard]] Result<void> beat(const Database& database) const;

 private:
  std::string claimer_;  // "PID-NAMESPACE PID START"
};

}  // namespace redline::tuner
