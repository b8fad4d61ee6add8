// What this machine and its GPUs do right now, and how `redline monitor` shows it. A figure that
// kernel or driver do not report is absent.
#pragma once

#include <cstdint>
#include <memory>
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
  std::optional<double> busy = {};  ///< all cores, 0..1
  std::vector<Core> cores = {};     ///< those that this process may use
  std::optional<double> load = {};  ///< of the last minute
  std::optional<int64_t> memory_bytes = {};
  std::optional<int64_t> memory_used_bytes = {};
  std::optional<int64_t> shm_bytes = {};
  std::optional<int64_t> shm_used_bytes = {};
  std::optional<double> disk_read = {};     ///< bytes a second
  std::optional<double> disk_written = {};  ///< bytes a second
};

struct GpuState {
  unsigned index = 0;  ///< as nvidia-smi numbers them
  std::string name = {};
  std::string uuid = {};
  nvml::GpuReading now = {};
  nvml::GpuTraffic traffic = {};
  std::vector<uint64_t> xids = {};  ///< since the monitor started
  uint64_t lost_readings = 0;       ///< since the monitor started
};

struct Snapshot {
  int64_t time_ns = 0;      ///< unix
  int64_t interval_ns = 0;  ///< that rates are of
  HostState host = {};
  std::string driver = {};        ///< version; "" where there is none
  std::string driver_error = {};  ///< why NVML does not start; "" where it does or is not there
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

/// At most 80 columns wide: the host, then two lines or three for each GPU.
[[nodiscard]] std::string as_text(const Snapshot& snapshot, const TextStyle& style);

/// One line of schema redline.monitor/1, with its newline.
[[nodiscard]] std::string as_json(const Snapshot& snapshot);

}  // namespace redline::monitor
