#include "machine/monitor/snapshot.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "machine/host_reading.h"
#include "machine/nvml/xid_watch.h"
#include "machine/resources.h"

namespace redline::monitor {

struct Sight {
  machine::HostReading host;
  machine::MachineReading machine;
};

namespace {

using machine::CoreTime;
using machine::HostReading;
using machine::MachineReading;

/// nullopt if no tick went by, or the kernel's count ran backwards.
std::optional<double> busy_between(const CoreTime& before, const CoreTime& now) {
  if (now.total <= before.total || now.busy < before.busy) return std::nullopt;
  const double share =
      static_cast<double>(now.busy - before.busy) / static_cast<double>(now.total - before.total);
  return std::min(share, 1.0);
}

HostState describe_host(const Sight& before, const Sight& now, double seconds) {
  HostState host;
  host.name = machine::host_name();
  if (before.host.machine && now.host.machine) {
    host.busy = busy_between(*before.host.machine, *now.host.machine);
  }
  for (const CoreTime& core : now.host.cores) {
    const auto was = std::ranges::find(before.host.cores, core.core, &CoreTime::core);
    if (was == before.host.cores.end()) continue;
    if (const auto busy = busy_between(*was, core)) host.cores.push_back({core.core, *busy});
  }
  if (double load = 0; getloadavg(&load, 1) == 1) host.load = load;
  const MachineReading& machine = now.machine;
  host.memory_bytes = machine.memory_bytes;
  if (machine.memory_bytes && machine.memory_available_bytes) {
    host.memory_used_bytes = *machine.memory_bytes - *machine.memory_available_bytes;
  }
  host.shm_bytes = machine.shm_bytes;
  host.shm_used_bytes = machine.shm_used_bytes;
  host.disk_read = nvml::rate(before.machine.disk_read_bytes, machine.disk_read_bytes, seconds);
  host.disk_written =
      nvml::rate(before.machine.disk_written_bytes, machine.disk_written_bytes, seconds);
  return host;
}

}  // namespace

struct Watcher::State {
  struct Device {
    nvmlDevice_t handle;
    std::optional<nvml::GpuReader> reader;  ///< nullopt if the GPU was lost before we began
    GpuState gpu;
  };

  State() {
    begin_driver();
    sight = look_at_host();
    for (Device& device : devices) look_at(device);
  }

  [[nodiscard]] Sight look_at_host() { return {reader.read(), reader.read_machine()}; }

  void begin_driver() {
    if (!library.loaded()) return;
    if (const int status = REDLINE_NVML(library, nvmlInit_v2); status != nvml::kSuccess) {
      driver_error = library.error_text(status);
      return;
    }
    driver = nvml::driver_version(library);
    xid_watch.emplace(library);
    unsigned int count = 0;
    static_cast<void>(REDLINE_NVML(library, nvmlDeviceGetCount_v2, &count));
    for (unsigned int index = 0; index < count; ++index) add_device(index);
  }

  void add_device(unsigned int index) {
    Device device = {};
    device.gpu.index = index;
    const int status = REDLINE_NVML(library, nvmlDeviceGetHandleByIndex_v2, index, &device.handle);
    if (status == nvml::kSuccess) {
      device.reader.emplace(library, device.handle);
      device.gpu.name = nvml::device_name(library, device.handle);
      device.gpu.uuid = nvml::device_uuid(library, device.handle);
      static_cast<void>(xid_watch->add(device.handle));
    }
    device.gpu.now.is_lost = status == nvml::kGpuIsLost;
    devices.push_back(std::move(device));
  }

  void look_at(Device& device) {
    GpuState& gpu = device.gpu;
    if (!device.reader || gpu.now.is_lost) return;
    nvml::GpuReading now = device.reader->read(true);
    gpu.traffic = nvml::traffic_between(gpu.now, now);
    gpu.lost_readings += now.failures;
    gpu.now = now;
  }

  void take_xids() {
    if (!xid_watch) return;
    for (const auto& [handle, number] : xid_watch->take()) {
      const auto device = std::ranges::find(devices, handle, &Device::handle);
      if (device != devices.end()) device->gpu.xids.push_back(number);
    }
  }

  machine::HostReader reader;
  Sight sight;
  const nvml::Library library;
  std::optional<nvml::XidWatch> xid_watch;
  std::vector<Device> devices;
  std::string driver;
  std::string driver_error;
};

Watcher::Watcher() : state_(std::make_unique<State>()) {}
Watcher::~Watcher() = default;

Snapshot Watcher::look() {
  State& state = *state_;
  Snapshot snapshot;
  snapshot.time_ns = unix_ns();
  const Sight before = std::exchange(state.sight, state.look_at_host());
  snapshot.interval_ns = state.sight.host.time_ns - before.host.time_ns;
  snapshot.host =
      describe_host(before, state.sight, 1e-9 * static_cast<double>(snapshot.interval_ns));
  snapshot.driver = state.driver;
  snapshot.driver_error = state.driver_error;
  for (State::Device& device : state.devices) state.look_at(device);
  state.take_xids();
  for (const State::Device& device : state.devices) snapshot.gpus.push_back(device.gpu);
  return snapshot;
}

}  // namespace redline::monitor
