#include "tuner/study/claims.h"

#include <fmt/format.h>
#include <unistd.h>

#include <sstream>

#include "base/clock.h"
#include "base/pid_namespace.h"
#include "machine/launch/process_tree.h"

namespace redline::tuner {
namespace {

/// True only if it is certain: the process is of this namespace, and its id is free or belongs to
/// another process now.
bool is_gone(const std::string& claimer) {
  uint64_t space = 0;
  pid_t pid = 0;
  uint64_t start = 0;
  if (!(std::istringstream(claimer) >> space >> pid >> start)) return false;
  if (space == 0 || space != pid_namespace()) return false;
  const auto process = launch::read_process(pid);
  return !process || process->dead() || process->start != start;
}

}  // namespace

Claims::Claims() {
  const auto self = launch::read_process(getpid());
  claimer_ = fmt::format("{} {} {}", pid_namespace(), getpid(), self ? self->start : 0);
}

Result<void> Claims::add(const Transaction& transaction, int64_t trial) const {
  return transaction.database()
      .prepare("INSERT INTO claims VALUES (?, ?, ?)")
      .bind(1, trial)
      .bind(2, claimer_)
      .bind(3, monotonic_ns())
      .run();
}

Result<bool> Claims::holds(const Transaction& transaction, int64_t trial) const {
  Statement row =
      transaction.database().prepare("SELECT 1 FROM claims WHERE trial=? AND claimer=?");
  return row.bind(1, trial).bind(2, claimer_).step();
}

Result<void> Claims::remove(const Transaction& transaction, int64_t trial) const {
  return transaction.database().prepare("DELETE FROM claims WHERE trial=?").bind(1, trial).run();
}

Result<void> Claims::beat(const Database& database) const {
  return database.prepare("UPDATE claims SET heartbeat_ns=? WHERE claimer=?")
      .bind(1, monotonic_ns())
      .bind(2, claimer_)
      .run();
}

Result<std::vector<int64_t>> Claims::orphans(const Transaction& transaction) const {
  std::vector<int64_t> trials;
  Statement row = transaction.database().prepare("SELECT trial, claimer, heartbeat_ns FROM claims");
  const auto keep = [&] {
    const std::string claimer = row.text(1);
    if (claimer == claimer_) return;
    // All that share the file are on one machine, and so on one clock.
    if (is_gone(claimer) || monotonic_ns() - row.integer(2) > kDeadAfterNs) {
      trials.push_back(row.integer(0));
    }
  };
  return row.each(keep).map([&] { return std::move(trials); });
}

}  // namespace redline::tuner
