#include <sys/timex.h>

#include <algorithm>

#include "base/integer.h"
#include "machine/doctor/probe.h"

namespace redline::doctor {

namespace {

namespace fs = std::filesystem;

/// The names in a folder, sorted.
std::vector<std::string> entries(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    names.push_back(entry.path().filename());
  }
  std::ranges::sort(names);
  return names;
}

NetworkInterface read_interface(const Sources& sources, const std::string& name) {
  const fs::path folder = fs::path("sys/class/net") / name;
  NetworkInterface interface { .name = name, .up = false, .megabits = std::nullopt };
  // The state of virtual interfaces is "unknown".
  const std::string state = sources.text(folder / "operstate").value_or("");
  interface.up = state == "up" || state == "unknown";
  const auto speed = leading_integer<int>(sources.text(folder / "speed").value_or(""));
  if (speed && *speed > 0) interface.megabits = speed;
  return interface;
}

InfinibandPort read_port(const Sources& sources, const std::string& device,
                         const std::string& port) {
  const fs::path folder = fs::path("sys/class/infiniband") / device / "ports" / port;
  return {.name = device + " port " + port,
          .active = sources.text(folder / "state").value_or("").ends_with("ACTIVE"),
          .rate = sources.text(folder / "rate").value_or("")};
}

}  // namespace

Network probe_network(const Sources& sources) {
  Network network;
  for (const std::string& name : entries(sources.root / "sys/class/net")) {
    network.interfaces.push_back(read_interface(sources, name));
  }
  const fs::path devices = sources.root / "sys/class/infiniband";
  for (const std::string& device : entries(devices)) {
    for (const std::string& port : entries(devices / device / "ports")) {
      network.infiniband.push_back(read_port(sources, device, port));
    }
  }
  network.infiniband_device_nodes = fs::exists(sources.root / "dev/infiniband");
  network.nccl_interfaces = sources.shown("NCCL_SOCKET_IFNAME");
  network.gloo_interfaces = sources.shown("GLOO_SOCKET_IFNAME");
  network.infiniband_disabled = sources.environment("NCCL_IB_DISABLE") == "1";
  return network;
}

std::optional<Clock> probe_clock(const Sources& sources) {
  struct timex answer {};
  if (adjtimex(&answer) < 0) return std::nullopt;
  Clock clock;
  clock.synchronised = (answer.status & STA_UNSYNC) == 0;
  clock.most_error_ns = static_cast<int64_t>(answer.maxerror) * 1000;
  struct Daemon {
    const char* trace;  ///< a file that exists while the daemon runs
    const char* name;
  };
  for (const Daemon& daemon :
       {Daemon{"run/chrony/chronyd.pid", "chrony"}, Daemon{"run/chronyd.pid", "chrony"},
        Daemon{"run/systemd/timesync/synchronized", "systemd-timesyncd"},
        Daemon{"run/ntpd.pid", "ntpd"}, Daemon{"run/ptp4l", "ptp4l"}}) {
    if (clock.daemon.empty() && fs::exists(sources.root / daemon.trace)) clock.daemon = daemon.name;
  }
  return clock;
}

}  // namespace redline::doctor
