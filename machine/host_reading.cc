#include "machine/host_reading.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <utility>

#include "base/monotonic_clock.h"

namespace redline::profiler {
namespace {

constexpr std::string_view kWorkerName = "pt_data_worker";  // torch names their main threads so

std::string_view take_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::string_view take_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  const size_t end = std::min(line.find_first_of(" \t\n"), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end);
  return word;
}

template <typename Number>
std::optional<Number> number_of(std::string_view word) {
  Number number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end == word.data()) return std::nullopt;
  return number;
}

/// What follows `key` in the line that begins with it.
std::string_view value_of(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (!line.starts_with(key)) continue;
    line.remove_prefix(key.size());
    return take_word(line);
  }
  return {};
}

/// "user nice system idle iowait irq softirq steal …"; what guests take is in "user" already.
std::optional<CoreTime> core_time(int core, std::string_view columns) {
  CoreTime time{.core = core};
  for (int column = 0; column < 8; ++column) {
    const auto ticks = number_of<uint64_t>(take_word(columns));
    if (!ticks) return std::nullopt;
    time.total += *ticks;
    if (column != 3 && column != 4) time.busy += *ticks;
  }
  return time;
}

std::optional<int64_t> cpu_time_ns(clockid_t clock) {
  timespec time;
  if (clock_gettime(clock, &time) != 0) return std::nullopt;
  return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
}

std::optional<int64_t> cpu_time_of(pid_t pid) {
  clockid_t clock;
  if (clock_getcpuclockid(pid, &clock) != 0) return std::nullopt;
  return cpu_time_ns(clock);
}

}  // namespace

bool list_holds(std::string_view list, int core) {
  if (list.empty()) return true;
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    const std::string_view part = list.substr(0, comma);
    const size_t dash = part.find('-');
    const auto first = number_of<int>(part.substr(0, dash));
    const auto last =
        dash == std::string_view::npos ? first : number_of<int>(part.substr(dash + 1));
    if (first && last && *first <= core && core <= *last) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

std::string HostReader::text_of(const std::string& file) const {
  std::string text;
  const int descriptor = open((folders_.proc + "/" + file).c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return text;
  char bytes[16384];
  for (ssize_t size = 0; (size = ::read(descriptor, bytes, sizeof(bytes))) > 0;) {
    text.append(bytes, static_cast<size_t>(size));
  }
  close(descriptor);
  return text;
}

HostReading HostReader::read() {
  HostReading reading;
  reading.time_ns = monotonic_ns();
  reading.cpu_ns = cpu_time_ns(CLOCK_PROCESS_CPUTIME_ID);
  read_cores(reading);
  read_process(reading);
  read_disk(reading);
  read_shm(reading);
  read_workers(reading);
  return reading;
}

MachineReading HostReader::read_machine() const {
  constexpr int64_t kKib = 1024;
  const auto kibibytes = [](std::string_view text, std::string_view key) {
    auto value = number_of<int64_t>(value_of(text, key));
    if (value) *value *= kKib;
    return value;
  };
  MachineReading reading;
  const std::string memory = text_of("meminfo");
  reading.memory_bytes = kibibytes(memory, "MemTotal:");
  reading.memory_available_bytes = kibibytes(memory, "MemAvailable:");
  const std::string pages = text_of("vmstat");
  reading.disk_read_bytes = kibibytes(pages, "pgpgin ");
  reading.disk_written_bytes = kibibytes(pages, "pgpgout ");
  struct statvfs disk;
  if (statvfs(folders_.shm.c_str(), &disk) == 0) {
    reading.shm_bytes = static_cast<int64_t>(disk.f_blocks * disk.f_frsize);
    reading.shm_used_bytes = static_cast<int64_t>((disk.f_blocks - disk.f_bfree) * disk.f_frsize);
  }
  return reading;
}

void HostReader::read_cores(HostReading& reading) const {
  const std::string status = text_of("self/status");
  const std::string_view allowed = value_of(status, "Cpus_allowed_list:");
  const std::string stat = text_of("stat");
  std::string_view text = stat;
  while (text.starts_with("cpu")) {
    std::string_view line = take_line(text);
    const std::string_view name = take_word(line).substr(3);
    if (name.empty()) {
      reading.machine = core_time(0, line);
    } else if (const auto core = number_of<int>(name); core && list_holds(allowed, *core)) {
      if (const auto time = core_time(*core, line)) reading.cores.push_back(*time);
    }
  }
}

void HostReader::read_process(HostReading& reading) const {
  // The second column, the program's name in parentheses, may itself hold any of them.
  const std::string stat = text_of("self/stat");
  std::string_view columns = stat;
  columns.remove_prefix(std::min(columns.rfind(')') + 1, columns.size()));
  for (int column = 3; column <= 24; ++column) {
    const auto value = number_of<int64_t>(take_word(columns));
    if (column == 10) reading.page_faults = value;
    if (column == 12) reading.major_page_faults = value;
    if (column == 24 && value) reading.resident_bytes = *value * sysconf(_SC_PAGESIZE);
  }
}

void HostReader::read_disk(HostReading& reading) const {
  const auto kibibytes = number_of<int64_t>(value_of(text_of("vmstat"), "pgpgin "));
  if (kibibytes) reading.disk_read_bytes = *kibibytes * 1024;
}

void HostReader::read_shm(HostReading& reading) const {
  struct statvfs disk;
  if (statvfs(folders_.shm.c_str(), &disk) != 0) return;
  reading.shm_bytes = static_cast<int64_t>((disk.f_blocks - disk.f_bfree) * disk.f_frsize);
}

void HostReader::read_workers(HostReading& reading) {
  std::erase_if(workers_, [&](pid_t pid) {
    const auto cpu_ns = cpu_time_of(pid);
    if (cpu_ns) reading.workers.push_back({pid, *cpu_ns});
    return !cpu_ns;
  });
}

void HostReader::find_workers() {
  workers_.clear();
  std::error_code error;
  // Each thread of this process lists the children that it started.
  for (const auto& thread :
       std::filesystem::directory_iterator(folders_.proc + "/self/task", error)) {
    const std::string children =
        text_of("self/task/" + thread.path().filename().string() + "/children");
    std::string_view list = children;
    while (const auto pid = number_of<pid_t>(take_word(list))) {
      const std::string name = text_of(std::to_string(*pid) + "/comm");
      if (name.starts_with(kWorkerName)) workers_.push_back(*pid);
    }
  }
  std::ranges::sort(workers_);
}

}  // namespace redline::profiler
