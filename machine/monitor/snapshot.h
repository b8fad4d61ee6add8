// The state of this machine and its GPUs at one moment, and how `redline monitor` shows it. A
// figure that kernel or driver do not report is absent.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/terminal.h"
#include "machine/nvml/gpu_reading.h"

namespace redline::monitor {

struct Core {
  int number = 0;
  double busy = 0;  ///< 0..1
};

struct HostState {
  std::string name = {};
  std::optional<double> busy = {};  ///< mean of all cores, 0..1
  std::vector<Core> cores = {};     ///< the cores that this process may use
  std::optional<double> load = {};  ///< average load of the last minute
  std::optional<int64_t> memory_bytes = {};
  std::optional<int64_t> memory_used_bytes = {};
  std::optional<int64_t> shm_bytes = {};
  std::optional<int64_t> shm_used_bytes = {};
  std::optional<double> disk_read = {};     ///< bytes a second
  std::optional<double> disk_written = {};  ///< bytes a second
};

struct GpuState {
  unsigned index = 0;  ///< nvidia-smi's number
  std::string name = {};
  std::string uuid = {};
  nvml::GpuReading now = {};
  nvml::GpuTraffic traffic = {};
  std::vector<uint64_t> xids = {};  ///< since the monitor started
  uint64_t lost_readings = 0;       ///< since the monitor started
};

struct Snapshot {
  int64_t time_ns = 0;      ///< Unix time
  int64_t interval_ns = 0;  ///< rates are means over this time
  HostState host = {};
  std::string driver = {};        ///< version; "" if there is no driver
  std::string driver_error = {};  ///< why NVML does not start; "" if it does or is not installed
  std::vector<GpuState> gpus = {};
};

class Watcher {
 public:
  Watcher();
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  /// Rates are means since the last call, or since the watcher was made.
  [[nodiscard]] Snapshot look();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A text of at most 80 columns: the host, then two or three lines for each GPU.
[[nodiscard]] std::string as_text(const Snapshot& snapshot, const TextStyle& style);

/// One line of schema redline.monitor/1, with its newline. `jobs` is the value of its key "jobs".
[[nodiscard]] std::string as_json(const Snapshot& snapshot, const nlohmann::ordered_json& jobs);

}  // namespace redline::monitor
