#include "tuner/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <thread>
#include <utility>

namespace redline::tuner {

namespace {

constexpr std::chrono::milliseconds kPoll{5};
constexpr std::chrono::seconds kKillPatience{10};

std::string read_all(const std::string& path) {
  std::string text;
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  char buffer[4096];
  ssize_t count = 0;
  while ((count = read(file, buffer, sizeof buffer)) > 0) {
    text.append(buffer, static_cast<size_t>(count));
  }
  close(file);
  return text;
}

/// /proc/PID/stat: "pid (name) state ppid … starttime …"; the name may hold spaces and brackets.
bool read_process(pid_t pid, ProcessEntry& process) {
  const std::string text = read_all("/proc/" + std::to_string(pid) + "/stat");
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return false;
  int parent = 0;
  unsigned long long start = 0;
  // Fields 3 (state), 4 (ppid) and 22 (starttime) of proc(5).
  if (std::sscanf(text.c_str() + name_end + 1,
                  " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
                  &process.state, &parent, &start) != 3) {
    return false;
  }
  process.pid = pid;
  process.parent = parent;
  process.start = start;
  return true;
}

std::vector<ProcessEntry> all_processes() {
  std::vector<ProcessEntry> result;
  DIR* folder = opendir("/proc");
  if (folder == nullptr) return result;
  while (const dirent* entry = readdir(folder)) {
    const pid_t pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    ProcessEntry process;
    if (pid > 0 && read_process(pid, process)) result.push_back(process);
  }
  closedir(folder);
  // Parents before children as a rule, so that one pass over them adopts whole branches.
  std::sort(result.begin(), result.end(), [](const ProcessEntry& a, const ProcessEntry& b) {
    return std::pair(a.start, a.pid) < std::pair(b.start, b.pid);
  });
  return result;
}

bool carries_mark(pid_t pid, const std::string& mark) {
  const std::string environment = '\0' + read_all("/proc/" + std::to_string(pid) + "/environ");
  const std::string wanted = '\0' + (kTrialIdVariable + ("=" + mark)) + '\0';
  return environment.find(wanted) != std::string::npos;
}

}  // namespace

ProcessTree::ProcessTree(pid_t root, std::string mark) : root_(root), mark_(std::move(mark)) {
  ProcessEntry process;
  if (read_process(root, process)) members_[root] = process.start;
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
  while (grown) {  // a child with an older start tick than its parent's needs a second pass
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
    // Zombies too must go: they become our children, to be reaped, only when their parent is, and
    // waitpid refuses a process whose other threads are still on their way out.
    if (members_.empty() || elapsed > grace + kKillPatience) return left;
    for (const pid_t pid : left) {
      if (elapsed > grace) {
        kill(pid, SIGKILL);
      } else if (asked.insert(pid).second) {
        kill(pid, SIGTERM);
      }
    }
    std::this_thread::sleep_for(kPoll);
  }
}

}  // namespace redline::tuner
