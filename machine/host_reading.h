// Reads what the kernel reports of this process and its machine at one moment. Most figures are
// counters that only grow, so load and rates come from two readings.
//
// The recorder takes a reading up to 100 times a second beside the training, so a reading opens
// four files and starts no process. A figure that the kernel does not report is absent and never 0:
// containers hide some of the files.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redline::machine {

/// Times of a core since the machine started, in ticks: sysconf(_SC_CLK_TCK) ticks are a second.
struct CoreTime {
  static constexpr int kAll = -1;
  int core = kAll;
  uint64_t busy = 0;  ///< includes the stolen time
  uint64_t total = 0;
  uint64_t stolen = 0;  ///< the host of this virtual machine gave the core to others
};
/// The lines of /proc/stat about cores: first all cores together, then each core.
[[nodiscard]] std::vector<CoreTime> core_times(std::string_view stat);

struct WorkerTime {
  pid_t pid = 0;
  int64_t cpu_ns = 0;  ///< since the worker started
};

/// Sizes are those of this moment; all other figures are counted from the start of the machine or
/// of the process.
struct HostReading {
  int64_t time_ns = 0;                    ///< monotonic_ns()
  std::optional<CoreTime> machine = {};   ///< all cores together
  std::vector<CoreTime> cores = {};       ///< those that this process may use
  std::optional<int64_t> cpu_ns = {};     ///< of all threads of this process
  std::optional<int64_t> kernel_ns = {};  ///< the part of cpu_ns that the kernel took
  std::optional<int64_t> resident_bytes = {};
  std::optional<int64_t> shm_used_bytes = {};
  std::optional<int64_t> disk_read_bytes = {};  ///< of the whole machine
  std::optional<int64_t> page_faults = {};
  std::optional<int64_t> major_page_faults = {};
  std::vector<WorkerTime> workers = {};  ///< DataLoader workers of this process
};

/// Figures of the whole machine. Bytes read and written are counted since the machine started.
struct MachineReading {
  std::optional<int64_t> memory_bytes = {};
  std::optional<int64_t> memory_available_bytes = {};
  std::optional<int64_t> shm_bytes = {};
  std::optional<int64_t> shm_used_bytes = {};
  std::optional<int64_t> disk_read_bytes = {};
  std::optional<int64_t> disk_written_bytes = {};
};

class HostReader {
 public:
  /// `root` is the folder of proc and dev: "" for this machine; tests give one with files of
  /// theirs.
  explicit HostReader(std::string root = "") : root_(std::move(root)) {}

  [[nodiscard]] HostReading read();
  [[nodiscard]] MachineReading read_machine() const;
  /// Finds the DataLoader workers of this process and its cores; read() reports on those found
  /// last. It looks at every thread and child of the process, so it costs more than a reading.
  void find_workers();

 private:
  [[nodiscard]] std::string text_of(const std::string& file) const;  ///< `file` is within proc
  void read_cores(HostReading& reading) const;
  void read_process(HostReading& reading) const;
  void read_workers(HostReading& reading);

  std::string root_;
  std::vector<pid_t> workers_;
  std::vector<int> allowed_;  ///< sorted; empty: nobody has looked for them
};

/// Whether a list such as "0-2,5" from /proc/self/status contains `core`. An empty list contains
/// every core.
[[nodiscard]] bool list_holds(std::string_view list, int core);

}  // namespace redline::machine
