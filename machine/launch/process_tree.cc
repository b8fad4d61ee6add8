#include "machine/launch/process_tree.h"

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <thread>

#include "base/file.h"
#include "machine/launch/environment.h"

namespace redline::launch {

namespace {

constexpr std::chrono::milliseconds kProcessPoll{5};
constexpr std::chrono::seconds kKillPatience{10};

std::vector<ProcessEntry> all_processes() {
  std::vector<ProcessEntry> result;
  DIR* folder = opendir("/proc");
  if (folder == nullptr) return result;
  while (const dirent* entry = readdir(folder)) {
    const pid_t pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (pid <= 0) continue;
    if (const auto process = read_process(pid)) result.push_back(*process);
  }
  closedir(folder);
  // Parents mostly come before their children then, so that one pass over them adopts whole
  // branches.
  std::ranges::sort(result, {},
                    [](const ProcessEntry& entry) { return std::pair(entry.start, entry.pid); });
  return result;
}

/// The soft limit of a process, from the line "Max msgqueue size 819200 819200 bytes".
uint64_t queue_limit(pid_t pid) {
  const std::string limits = read_file("/proc/" + std::to_string(pid) + "/limits");
  const std::string name = "Max msgqueue size";
  const size_t at = limits.find(name);
  if (at == std::string::npos) return 0;
  return std::strtoull(limits.c_str() + at + name.size(), nullptr, 10);
}

bool carries_mark(pid_t pid, const std::string& mark) {
  const uint64_t limit = limit_of(mark);
  if (limit > 0 && queue_limit(pid) == limit) return true;
  return Environment::of_process(pid).get(kMarkVariable) == mark;
}

}  // namespace

/// /proc/PID/stat: "pid (name) state ppid … starttime …"; the name may hold spaces and brackets.
std::optional<ProcessEntry> read_process(pid_t pid) {
  const std::string text = read_file("/proc/" + std::to_string(pid) + "/stat");
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  ProcessEntry process;
  int parent = 0;
  unsigned long long start = 0;
  // Fields 3 (state), 4 (ppid) and 22 (starttime) of proc(5).
  if (std::sscanf(text.c_str() + name_end + 1,
                  " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
                  &process.state, &parent, &start) != 3) {
    return std::nullopt;
  }
  process.pid = pid;
  process.parent = parent;
  process.start = start;
  return process;
}

uint64_t limit_of(const std::string& mark) {
  constexpr uint64_t kNumbers = 400'000;
  rlimit limit{};
  if (getrlimit(RLIMIT_MSGQUEUE, &limit) != 0) return 0;
  const uint64_t highest = std::min<uint64_t>(limit.rlim_max, 819'200);  // the kernel's default
  return highest <= kNumbers ? 0 : highest - 1 - std::hash<std::string>()(mark) % kNumbers;
}

void mark_by_limit(uint64_t number) {
  rlimit limit{};
  if (number == 0 || getrlimit(RLIMIT_MSGQUEUE, &limit) != 0) return;
  limit.rlim_cur = number;
  (void)setrlimit(RLIMIT_MSGQUEUE, &limit);
}

ProcessTree::ProcessTree(pid_t root, std::string mark) : root_(root), mark_(std::move(mark)) {
  if (const auto process = read_process(root)) members_[root] = process->start;
}

bool ProcessTree::belongs(const ProcessEntry& process) {
  const auto known = members_.find(process.pid);
  if (known != members_.end() && known->second == process.start) return true;
  if (members_.contains(process.parent)) return true;
  const auto stranger = strangers_.find(process.pid);
  if (stranger != strangers_.end() && stranger->second == process.start) return false;
  if (!process.dead() && carries_mark(process.pid, mark_)) return true;
  strangers_[process.pid] = process.start;
  return false;
}

void ProcessTree::reap(const ProcessEntry& process) {
  int status = 0;
  if (process.parent != getpid() || waitpid(process.pid, &status, WNOHANG) != process.pid) return;
  if (process.pid == root_) root_status_ = status;
}

std::vector<pid_t> ProcessTree::scan() {
  const auto processes = all_processes();
  std::map<pid_t, uint64_t> present;
  bool grown = true;
  while (grown) {  // a child that sorts before its parent needs a second pass
    grown = false;
    for (const ProcessEntry& process : processes) {
      if (present.contains(process.pid) || process.pid == getpid() || !belongs(process)) continue;
      grown = true;
      present[process.pid] = members_[process.pid] = process.start;
    }
  }
  living_.clear();
  for (const ProcessEntry& process : processes) {
    if (!present.contains(process.pid)) continue;
    if (process.dead()) {
      reap(process);
    } else {
      living_.push_back(process.pid);
    }
  }
  members_ = std::move(present);
  return living_;
}

std::vector<pid_t> ProcessTree::stop(std::chrono::nanoseconds grace) {
  const auto begin = std::chrono::steady_clock::now();
  std::set<pid_t> asked;
  while (true) {
    const std::vector<pid_t> left = scan();
    const auto elapsed = std::chrono::steady_clock::now() - begin;
    // Waits until zombies are gone, too. A zombie becomes our child, which we can reap, only after
    // its parent was reaped, and waitpid refuses a process whose other threads are still ending.
    if (elapsed > grace + kKillPatience) return left;
    if (members_.empty()) {
      // An orphan that ended before a look saw it is nobody's member, but in the command's group.
      while (root_ > 0 && waitpid(-root_, nullptr, WNOHANG) > 0) continue;
      return left;
    }
    for (const pid_t pid : left) {
      if (elapsed > grace) {
        kill(pid, SIGKILL);
      } else if (asked.insert(pid).second) {
        kill(pid, SIGTERM);
      }
    }
    std::this_thread::sleep_for(kProcessPoll);
  }
}

}  // namespace redline::launch
