#include <fmt/format.h>

#include "base/format.h"
#include "machine/doctor/judge.h"

namespace redline::doctor {

namespace {

/// Docker's default for /dev/shm is 64 MiB, which is too small even for the batches of one worker.
constexpr int64_t kSmallSharedMemory = 1LL << 30;
/// Each tensor that a DataLoader worker hands over holds a descriptor.
constexpr int64_t kFewOpenFiles = 1024;

Check judge_hardware(const HostFacts& host) {
  Check check{State::kOk, "host", {format_plural(host.cores, "core")}, ""};
  if (host.memory_bytes && host.available_bytes) {
    check.parts.push_back(space_text(*host.memory_bytes, *host.available_bytes));
  }
  return check;
}

Check judge_shared_memory(const HostFacts& host) {
  if (!host.shm_bytes) {
    return {State::kWarning,
            "/dev/shm",
            {"absent: DataLoader workers cannot hand over batches"},
            "mount a tmpfs on /dev/shm"};
  }
  Check check{State::kOk, "/dev/shm", {space_text(*host.shm_bytes, *host.shm_free_bytes)}, ""};
  if (*host.shm_free_bytes < kSmallSharedMemory) {
    check.state = State::kWarning;
    check.cure =
        "DataLoader workers die of a bus error when it is full: docker run --shm-size=8g, "
        "or mount -o remount,size=8G /dev/shm";
  }
  return check;
}

Check judge_limits(const HostFacts& host) {
  Check check{State::kOk, "limits", {fmt::format("{} open files", host.open_files)}, ""};
  if (host.perf_event_paranoid) {
    check.parts.push_back(fmt::format("perf_event_paranoid {}", *host.perf_event_paranoid));
  }
  if (host.ptrace_scope) check.parts.push_back(fmt::format("ptrace_scope {}", *host.ptrace_scope));
  if (host.open_files < kFewOpenFiles) {
    check.state = State::kWarning;
    check.cure =
        fmt::format("many DataLoader workers need more: ulimit -n {}", host.open_files_limit);
  }
  return check;
}

Check judge_cgroup(const HostFacts& host) {
  if (host.cgroup_delegated) return {State::kOk, "cgroup v2", {"delegated"}, ""};
  return {
      State::kAbsent, "cgroup v2", {"not delegated", "trials are limited by rlimits instead"}, ""};
}

}  // namespace

std::vector<Check> judge_host(const Facts& facts) {
  return {judge_hardware(facts.host), judge_shared_memory(facts.host), judge_limits(facts.host),
          judge_cgroup(facts.host)};
}

}  // namespace redline::doctor
