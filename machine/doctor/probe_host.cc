#include <linux/capability.h>
#include <sys/resource.h>
#include <unistd.h>

#include <sstream>

#include "base/file.h"
#include "base/integer.h"
#include "machine/doctor/probe.h"
#include "machine/kernel_text.h"
#include "machine/resources.h"

namespace redline::doctor {

namespace {

namespace fs = std::filesystem;

std::optional<int> leading_number(const Sources& sources, const char* file) {
  return leading_integer<int>(sources.text(file).value_or(""));
}

bool has_word(const std::string& text, const std::string& word) {
  std::istringstream words(text);
  for (std::string next; words >> next;) {
    if (next == word) return true;
  }
  return false;
}

bool cgroup_delegated(const Sources& sources) {
  const std::vector<std::string> folders = machine::cgroup_folders(sources.root, "");
  if (folders.empty()) return false;
  return has_word(read_file(folders.front() + "/cgroup.controllers"), "memory") &&
         access(folders.front().c_str(), W_OK) == 0 &&
         access((folders.front() + "/cgroup.subtree_control").c_str(), W_OK) == 0;
}

void read_memory(const Sources& sources, HostFacts& host) {
  const machine::Memory memory = machine::memory(sources.root);
  host.memory_bytes = memory.usable_bytes();
  host.available_bytes = memory.usable_now_bytes();
  const auto shm = machine::shared_memory(sources.root);
  if (!shm) return;
  host.shm_bytes = shm->bytes;
  host.shm_free_bytes = shm->free_bytes;
}

bool has_nvidia_hardware(const Sources& sources) {
  const fs::path devices = "sys/bus/pci/devices";
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(sources.root / devices, error)) {
    const fs::path device = devices / entry.path().filename();
    // PCI class 0x03: display controllers. NVIDIA makes network cards and bridges too.
    if (sources.text(device / "vendor") == "0x10de" &&
        sources.text(device / "class").value_or("").starts_with("0x03")) {
      return true;
    }
  }
  return false;
}

void read_limits(HostFacts& host) {
  struct rlimit limit {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  host.open_files = static_cast<int64_t>(limit.rlim_cur);
  host.open_files_limit = static_cast<int64_t>(limit.rlim_max);
}

/// As the driver asks: root of a container may lack CAP_SYS_ADMIN, and that of another user
/// namespace does not count.
bool is_administrator(const Sources& sources) {
  const std::string map = sources.text("proc/self/uid_map").value_or("0 0 4294967295");
  std::string inside, outside, count;
  std::istringstream(map) >> inside >> outside >> count;
  return inside == "0" && outside == "0" && count == "4294967295" &&
         machine::has_bit(sources.text("proc/self/status").value_or(""), "CapEff:", CAP_SYS_ADMIN);
}

}  // namespace

HostFacts probe_host(const Sources& sources) {
  HostFacts host;
  host.cores = machine::cores(sources.root).usable();
  read_memory(sources, host);
  read_limits(host);
  host.cgroup_delegated = cgroup_delegated(sources);
  host.nvidia_hardware = has_nvidia_hardware(sources);
  host.nvidia_kernel_driver = fs::exists(sources.root / "proc/driver/nvidia/version");
  host.nvidia_device_nodes = fs::exists(sources.root / "dev/nvidiactl");
  const std::string parameters = sources.text("proc/driver/nvidia/params").value_or("");
  host.gpu_activity_restricted = parameters.find("RmProfilingAdminOnly: 1") != std::string::npos;
  host.administrator = is_administrator(sources);
  host.perf_event_paranoid = leading_number(sources, "proc/sys/kernel/perf_event_paranoid");
  host.ptrace_scope = leading_number(sources, "proc/sys/kernel/yama/ptrace_scope");
  return host;
}

}  // namespace redline::doctor
