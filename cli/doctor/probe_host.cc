#include <sched.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include "cli/doctor/probe.h"

namespace redline::doctor {

namespace {

namespace fs = std::filesystem;

std::optional<int64_t> number_in(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  int64_t value = 0;
  const char* end = text->data() + text->size();
  if (std::from_chars(text->data(), end, value).ec != std::errc()) return std::nullopt;
  return value;
}

std::optional<int> small_number_in(const Machine& machine, const char* file) {
  const auto value = number_in(machine.text(file));
  return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

/// The value in bytes of a line such as "MemTotal:  131072 kB".
int64_t meminfo_bytes(const std::string& meminfo, const std::string& name) {
  std::istringstream lines(meminfo);
  std::string word;
  while (lines >> word) {
    int64_t kibibytes = 0;
    if (word == name + ":" && lines >> kibibytes) return kibibytes * 1024;
  }
  return 0;
}

/// Folder of this process in the cgroup v2 hierarchy, below /sys/fs/cgroup.
std::optional<fs::path> own_cgroup(const Machine& machine) {
  std::istringstream lines(machine.text("proc/self/cgroup").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("0::/")) return fs::path("sys/fs/cgroup") / line.substr(4);
  }
  return std::nullopt;
}

bool has_word(const std::string& text, const std::string& word) {
  std::istringstream words(text);
  for (std::string next; words >> next;) {
    if (next == word) return true;
  }
  return false;
}

bool cgroup_delegated(const Machine& machine) {
  const auto folder = own_cgroup(machine);
  if (!folder) return false;
  const auto controllers = machine.text(*folder / "cgroup.controllers");
  if (!controllers || !has_word(*controllers, "memory")) return false;
  return access((machine.root / *folder).c_str(), W_OK) == 0 &&
         access((machine.root / *folder / "cgroup.subtree_control").c_str(), W_OK) == 0;
}

/// Cores that this process may use: its affinity, and the quota of its cgroup ("200000 100000").
int usable_cores(const Machine& machine) {
  cpu_set_t set;
  const bool told = sched_getaffinity(0, sizeof set, &set) == 0;
  const int allowed = told ? CPU_COUNT(&set) : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  const auto folder = own_cgroup(machine);
  std::istringstream quota(folder ? machine.text(*folder / "cpu.max").value_or("") : "");
  double microseconds = 0;
  double period = 0;
  if (!(quota >> microseconds >> period) || period <= 0) return allowed;
  return std::clamp(static_cast<int>(std::ceil(microseconds / period)), 1, allowed);
}

void read_memory(const Machine& machine, Host& host) {
  const std::string meminfo = machine.text("proc/meminfo").value_or("");
  host.memory_bytes = meminfo_bytes(meminfo, "MemTotal");
  host.available_bytes = meminfo_bytes(meminfo, "MemAvailable");
  const auto folder = own_cgroup(machine);
  const auto limit = folder ? number_in(machine.text(*folder / "memory.max")) : std::nullopt;
  if (limit && *limit < host.memory_bytes) {
    const int64_t used = number_in(machine.text(*folder / "memory.current")).value_or(0);
    host.memory_bytes = *limit;
    host.available_bytes = std::min(host.available_bytes, std::max<int64_t>(0, *limit - used));
  }
}

void read_shared_memory(const Machine& machine, Host& host) {
  struct statvfs space {};
  if (statvfs((machine.root / "dev/shm").c_str(), &space) != 0) return;
  host.shm_bytes = static_cast<int64_t>(space.f_blocks * space.f_frsize);
  host.shm_free_bytes = static_cast<int64_t>(space.f_bavail * space.f_frsize);
}

bool has_nvidia_hardware(const Machine& machine) {
  const fs::path devices = "sys/bus/pci/devices";
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(machine.root / devices, error)) {
    const fs::path device = devices / entry.path().filename();
    // PCI class 0x03: display controllers. NVIDIA makes network cards and bridges too.
    if (machine.text(device / "vendor") == "0x10de" &&
        machine.text(device / "class").value_or("").starts_with("0x03")) {
      return true;
    }
  }
  return false;
}

void read_limits(Host& host) {
  struct rlimit limit {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  host.open_files = static_cast<int64_t>(limit.rlim_cur);
  host.open_files_limit = static_cast<int64_t>(limit.rlim_max);
}

}  // namespace

Host probe_host(const Machine& machine) {
  Host host;
  host.cores = usable_cores(machine);
  read_memory(machine, host);
  read_shared_memory(machine, host);
  read_limits(host);
  host.cgroup_delegated = cgroup_delegated(machine);
  host.nvidia_hardware = has_nvidia_hardware(machine);
  host.nvidia_device_nodes = fs::exists(machine.root / "dev/nvidiactl");
  const std::string parameters = machine.text("proc/driver/nvidia/params").value_or("");
  host.gpu_activity_restricted = parameters.find("RmProfilingAdminOnly: 1") != std::string::npos;
  host.administrator = geteuid() == 0;
  host.perf_event_paranoid = small_number_in(machine, "proc/sys/kernel/perf_event_paranoid");
  host.ptrace_scope = small_number_in(machine, "proc/sys/kernel/yama/ptrace_scope");
  return host;
}

}  // namespace redline::doctor
