#include "machine/host_reading.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "base/file.h"
#include "base/integer.h"
#include "machine/kernel_text.h"
#include "machine/resources.h"
#include "machine/thread_times.h"

namespace redline::machine {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr std::string_view kWorkerName = "pt_data_worker";  // torch names their main threads so

/// Reads the columns "user nice system idle iowait irq softirq steal". Those behind them are times
/// of guests, which "user" includes.
std::optional<CoreTime> core_time(int core, std::string_view columns) {
  CoreTime time{.core = core};
  for (int column = 0; column < 8; ++column) {
    const auto ticks = leading_integer<uint64_t>(take_word(columns));
    if (!ticks) return std::nullopt;
    time.total += *ticks;
    if (column != 3 && column != 4) time.busy += *ticks;
    if (column == 7) time.stolen = *ticks;
  }
  return time;
}

std::optional<int64_t> cpu_time_ns(clockid_t clock) {
  timespec time;
  if (clock_gettime(clock, &time) != 0) return std::nullopt;
  return time.tv_sec * kSecondNs + time.tv_nsec;
}

std::optional<int64_t> cpu_time_of(pid_t pid) {
  clockid_t clock;
  if (clock_getcpuclockid(pid, &clock) != 0) return std::nullopt;
  return cpu_time_ns(clock);
}

}  // namespace

std::vector<CoreTime> core_times(std::string_view stat) {
  std::vector<CoreTime> times;
  while (stat.starts_with("cpu")) {
    std::string_view line = take_line(stat);
    const std::string_view name = take_word(line).substr(3);
    const auto core = name.empty() ? std::optional(CoreTime::kAll) : leading_integer<int>(name);
    if (!core) continue;
    if (const auto time = core_time(*core, line)) times.push_back(*time);
  }
  return times;
}

bool list_holds(std::string_view list, int core) {
  if (list.empty()) return true;
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    const std::string_view part = list.substr(0, comma);
    const size_t dash = part.find('-');
    const auto first = leading_integer<int>(part.substr(0, dash));
    const auto last =
        dash == std::string_view::npos ? first : leading_integer<int>(part.substr(dash + 1));
    if (first && last && *first <= core && core <= *last) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

std::string HostReader::text_of(const std::string& file) const {
  return read_file(root_ + "/proc/" + file);
}

HostReading HostReader::read() {
  HostReading reading;
  reading.time_ns = monotonic_ns();
  reading.cpu_ns = cpu_time_ns(CLOCK_PROCESS_CPUTIME_ID);
  read_cores(reading);
  read_process(reading);
  reading.disk_read_bytes = kibibytes_of(text_of("vmstat"), "pgpgin ");
  if (const auto shm = shared_memory(root_)) reading.shm_used_bytes = shm->used_bytes;
  read_workers(reading);
  return reading;
}

MachineReading HostReader::read_machine() const {
  MachineReading reading;
  const Memory now = memory(root_);
  reading.memory_bytes = now.bytes;
  reading.memory_available_bytes = now.available_bytes;
  const std::string pages = text_of("vmstat");
  reading.disk_read_bytes = kibibytes_of(pages, "pgpgin ");
  reading.disk_written_bytes = kibibytes_of(pages, "pgpgout ");
  if (const auto shm = shared_memory(root_)) {
    reading.shm_bytes = shm->bytes;
    reading.shm_used_bytes = shm->used_bytes;
  }
  return reading;
}

void HostReader::read_cores(HostReading& reading) const {
  const std::string status = allowed_.empty() ? text_of("self/status") : "";
  const std::string_view allowed = value_of(status, "Cpus_allowed_list:");
  for (const CoreTime& time : core_times(text_of("stat"))) {
    if (time.core == CoreTime::kAll) {
      reading.machine = time;
    } else if (allowed_.empty() ? list_holds(allowed, time.core)
                                : std::ranges::binary_search(allowed_, time.core)) {
      reading.cores.push_back(time);
    }
  }
}

void HostReader::read_process(HostReading& reading) const {
  // The second column is the program's name in parentheses, which may hold blanks and parentheses.
  const std::string stat = text_of("self/stat");
  std::string_view columns = stat;
  columns.remove_prefix(std::min(columns.rfind(')') + 1, columns.size()));
  for (int column = 3; column <= 24; ++column) {
    const auto value = leading_integer(take_word(columns));
    if (column == 10) reading.page_faults = value;
    if (column == 12) reading.major_page_faults = value;
    if (column == 15 && value) reading.kernel_ns = *value * (kSecondNs / sysconf(_SC_CLK_TCK));
    if (column == 24 && value) reading.resident_bytes = *value * sysconf(_SC_PAGESIZE);
  }
}

void HostReader::read_workers(HostReading& reading) {
  std::erase_if(workers_, [&](pid_t pid) {
    const auto cpu_ns = cpu_time_of(pid);
    if (cpu_ns) reading.workers.push_back({pid, *cpu_ns});
    return !cpu_ns;
  });
}

void HostReader::find_workers() {
  allowed_ = allowed_cores();
  workers_.clear();
  // Each thread of this process lists the children that it started.
  for (const pid_t thread : thread_ids(root_)) {
    const std::string children = text_of("self/task/" + std::to_string(thread) + "/children");
    std::string_view list = children;
    while (const auto pid = leading_integer<pid_t>(take_word(list))) {
      const std::string name = text_of(std::to_string(*pid) + "/comm");
      if (name.starts_with(kWorkerName)) workers_.push_back(*pid);
    }
  }
  std::ranges::sort(workers_);
}

}  // namespace redline::machine
