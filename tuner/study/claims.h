// Which autotune process runs which trial of a study, so that several can share it.
//
// A claim is a row with a heartbeat. A process that is gone loses its trials at once. One that
// cannot be seen from here (in another container) or that hangs loses them when its heartbeat is
// old.
//
// Locks of the file system were rejected: one lock a trial does not say who holds it, and on NFS it
// may outlive its holder.
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

  /// All of them in the transaction that changes the trial, too.
  [[nodiscard]] Result<void> add(const Transaction& transaction, int64_t trial) const;
  [[nodiscard]] Result<bool> holds(const Transaction& transaction, int64_t trial) const;
  [[nodiscard]] Result<void> remove(const Transaction& transaction, int64_t trial) const;
  /// Trials whose claimer is dead.
  [[nodiscard]] Result<std::vector<int64_t>> orphans(const Transaction& transaction) const;

  [[nodiscard]] Result<void> beat(const Database& database) const;

 private:
  std::string claimer_;  // "PID-NAMESPACE PID START"
};

}  // namespace redline::tuner
