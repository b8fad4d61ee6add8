#include "machine/resources.h"

#include <sched.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/file.h"
#include "base/integer.h"
#include "machine/kernel_text.h"
#include "machine/thread_times.h"

namespace redline::machine {
namespace {

void keep_least(std::optional<int64_t>& least, std::optional<int64_t> bytes) {
  if (bytes) least = std::min(least.value_or(*bytes), *bytes);
}

std::optional<int64_t> least_of(std::optional<int64_t> one, std::optional<int64_t> other) {
  keep_least(one, other);
  return one;
}

/// Two numbers such as 150000 and 100000 grant so many microseconds of each period. "max" (v2) and
/// -1 (v1) mean no limit.
std::optional<double> quota_of(std::string_view microseconds, std::string_view period) {
  const auto quota = leading_integer(microseconds), of = leading_integer(period);
  if (!quota || !of || *quota <= 0 || *of <= 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*of);
}

std::optional<double> core_quota(const std::string& root) {
  std::optional<double> least;
  const auto add = [&](std::optional<double> quota) {
    if (quota) least = std::min(least.value_or(*quota), *quota);
  };
  for (const std::string& folder : cgroup_folders(root, "")) {
    const std::string text = read_file(folder + "/cpu.max");
    std::string_view words = text;
    const std::string_view quota = take_word(words);
    add(quota_of(quota, take_word(words)));
  }
  for (const std::string& folder : cgroup_folders(root, "cpu")) {
    add(quota_of(read_file(folder + "/cpu.cfs_quota_us"),
                 read_file(folder + "/cpu.cfs_period_us")));
  }
  return least;
}

/// The names of a cgroup version's files.
struct MemoryFiles {
  const char* limit;
  const char* used;
  const char* cache;  ///< a line of memory.stat: pages that the kernel can free at once
};

void add_group(const std::string& folder, const MemoryFiles& files, Memory& memory) {
  constexpr int64_t kUnlimited = 1'000'000'000'000'000'000;  // without limit, v1 has about 2^63
  const auto limit = leading_integer(read_file(folder + "/" + files.limit));
  if (!limit || *limit >= kUnlimited) return;
  keep_least(memory.limit_bytes, limit);
  const auto used = leading_integer(read_file(folder + "/" + files.used));
  if (!used) return;
  const std::string statistics = read_file(folder + "/memory.stat");
  const int64_t cache = leading_integer(value_of(statistics, files.cache)).value_or(0);
  keep_least(memory.left_bytes, std::max<int64_t>(*limit - std::max<int64_t>(*used - cache, 0), 0));
}

}  // namespace

int Cores::usable() const {
  const int most = std::max<int>(static_cast<int>(allowed.size()), 1);
  return quota ? std::clamp(static_cast<int>(std::ceil(*quota)), 1, most) : most;
}

std::vector<int> allowed_cores() {
  cpu_set_t first;
  if (sched_getaffinity(getpid(), sizeof first, &first) != 0) return {};
  cpu_set_t all = first;
  for (const pid_t thread : thread_ids()) {
    cpu_set_t own, both;
    if (sched_getaffinity(thread, sizeof own, &own) != 0) continue;
    CPU_AND(&both, &first, &own);
    // One with more than the first thread's cores was there before the script chose some of them.
    if (!CPU_EQUAL(&both, &first)) CPU_OR(&all, &all, &own);
  }
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &all)) cores.push_back(core);
  }
  return cores;
}

Cores cores(const std::string& root) {
  return {.allowed = allowed_cores(), .quota = core_quota(root)};
}

std::optional<int64_t> Memory::usable_bytes() const { return least_of(bytes, limit_bytes); }
std::optional<int64_t> Memory::usable_now_bytes() const {
  return least_of(available_bytes, left_bytes);
}

std::string host_name() {
  char name[256] = "";
  gethostname(name, sizeof(name) - 1);
  return name[0] != '\0' ? name : "localhost";
}

Memory memory(const std::string& root) {
  Memory memory;
  const std::string text = read_file(root + "/proc/meminfo");
  memory.bytes = kibibytes_of(text, "MemTotal:");
  memory.available_bytes = kibibytes_of(text, "MemAvailable:");
  for (const std::string& folder : cgroup_folders(root, "")) {
    add_group(folder, {"memory.max", "memory.current", "inactive_file "}, memory);
  }
  for (const std::string& folder : cgroup_folders(root, "memory")) {
    add_group(folder, {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "},
              memory);
  }
  return memory;
}

std::optional<SharedMemory> shared_memory(const std::string& root) {
  struct statvfs disk;
  if (statvfs((root + "/dev/shm").c_str(), &disk) != 0) return std::nullopt;
  const auto bytes = [&](auto blocks) { return static_cast<int64_t>(blocks * disk.f_frsize); };
  return SharedMemory{.bytes = bytes(disk.f_blocks),
                      .used_bytes = bytes(disk.f_blocks - disk.f_bfree),
                      .free_bytes = bytes(disk.f_bavail)};
}

std::vector<std::string> cgroup_folders(const std::string& root, const std::string& controller) {
  std::vector<std::string> folders;
  const std::string groups = read_file(root + "/proc/self/cgroup");
  std::string_view text = groups;
  while (!text.empty()) {
    // A line is "4:cpu,cpuacct:/path" in v1 or "0::/path" in v2.
    const std::string_view line = take_line(text);
    const size_t first = std::min(line.find(':'), line.size());
    const size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string names = "," + std::string(line.substr(first + 1, second - first - 1)) + ",";
    if (names.find("," + controller + ",") == std::string::npos) continue;
    const std::string mount =
        root + "/sys/fs/cgroup" + (controller.empty() ? "" : "/" + controller);
    std::string own(line.substr(second + 1));
    // In a container the path is often that of the host. The group is then the mount itself.
    std::error_code ignored;
    if (own == "/" || !std::filesystem::exists(mount + own, ignored)) own.clear();
    for (;; own.erase(own.rfind('/'))) {
      folders.push_back(mount + own);
      if (own.empty()) return folders;
    }
  }
  return folders;
}

}  // namespace redline::machine
