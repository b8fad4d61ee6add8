#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "machine/monitor/snapshot.h"

namespace redline::monitor {
namespace {

constexpr const char* kUnknown = "n/a";
constexpr size_t kLabel = 10;
constexpr size_t kBar = 20;

Hue hue_of(double share) { return share >= 0.9 ? Hue::kRed : Hue::kBlue; }

std::string percent(const std::optional<double>& share) {
  return share ? fmt::format("{:.0f} %", 100 * *share) : kUnknown;
}

/// "703.0 MiB of 140.4 GiB"
std::string of_all(const std::optional<int64_t>& used, const std::optional<int64_t>& all) {
  if (!all) return kUnknown;
  return (used ? format_bytes(*used) : kUnknown) + " of " + format_bytes(*all);
}

std::optional<double> share_of(const std::optional<int64_t>& used,
                               const std::optional<int64_t>& all) {
  if (!used || !all || *all <= 0) return std::nullopt;
  return static_cast<double>(*used) / static_cast<double>(*all);
}

void put_share(TextCanvas& canvas, const char* label, const std::optional<double>& share,
               const std::string& more) {
  canvas.left(label, kLabel).right(percent(share), 6).left("  ").left(more, 40);
  if (share) canvas.bar(*share, kBar, hue_of(*share));
  canvas.end_line();
}

/// Draws a column for each core. With many cores a column stands for several of them.
void put_cores(TextCanvas& canvas, const std::vector<Core>& cores, bool utf8) {
  if (cores.size() < 2) return;
  constexpr const char* kDigits[] = {".", "2", "3", "4", "5", "6", "7", "8"};
  constexpr size_t kMost = kTerminalColumns - kLabel - 8;
  const size_t together = (cores.size() + kMost - 1) / kMost;
  canvas.left("cores", kLabel + 8);
  for (size_t first = 0; first < cores.size(); first += together) {
    double busy = 0;
    const size_t end = std::min(first + together, cores.size());
    for (size_t i = first; i < end; ++i) busy += cores[i].busy;
    busy /= static_cast<double>(end - first);
    const size_t height = std::min(static_cast<size_t>(busy * 8), size_t{7});
    canvas.left(utf8 ? kColumnHeights[height] : kDigits[height], 0, hue_of(busy));
  }
  canvas.end_line();
}

void put_host(TextCanvas& canvas, const Snapshot& snapshot, bool utf8) {
  const HostState& host = snapshot.host;
  canvas.left(elide(host.name, 40), 44, Hue::kBold);
  if (!snapshot.driver.empty()) canvas.right("driver " + elide(snapshot.driver, 20), 34, Hue::kDim);
  canvas.end_line();
  const auto cores = static_cast<int64_t>(host.cores.size());
  put_share(
      canvas, "CPU", host.busy,
      format_plural(cores, "core") + (host.load ? fmt::format(", load {:.2f}", *host.load) : ""));
  put_cores(canvas, host.cores, utf8);
  put_share(canvas, "memory", share_of(host.memory_used_bytes, host.memory_bytes),
            of_all(host.memory_used_bytes, host.memory_bytes));
  put_share(canvas, "/dev/shm", share_of(host.shm_used_bytes, host.shm_bytes),
            of_all(host.shm_used_bytes, host.shm_bytes));
  const auto rate = [](const std::optional<double>& bytes) {
    return bytes ? format_bandwidth(*bytes) : std::string(kUnknown);
  };
  canvas.left("disk", kLabel + 8).left("read " + rate(host.disk_read) + ", ");
  canvas.left("written " + rate(host.disk_written)).end_line();
}

/// "512 of 700 W"
std::string power_of(const nvml::GpuReading& now) {
  if (!now.power_w) return kUnknown;
  if (!now.power_limit_w) return fmt::format("{:.0f} W", *now.power_w);
  return fmt::format("{:.0f} of {:.0f} W", *now.power_w, *now.power_limit_w);
}

std::string number_of(const std::optional<int64_t>& number, const char* unit) {
  return number ? fmt::format("{} {}", *number, unit) : kUnknown;
}

/// "12.0/2.0" GB/s in and out
std::string both_ways(const std::optional<double>& in, const std::optional<double>& out) {
  if (!in && !out) return kUnknown;
  const auto gigabytes = [](const std::optional<double>& bytes) {
    return bytes ? fmt::format("{:.1f}", 1e-9 * *bytes) : std::string(kUnknown);
  };
  return gigabytes(in) + "/" + gigabytes(out);
}

std::vector<std::string> troubles_of(const GpuState& gpu) {
  std::vector<std::string> troubles;
  const nvml::GpuReading& now = gpu.now;
  if (now.throttle_reasons) {
    const auto names = nvml::throttle_names(*now.throttle_reasons);
    if (!names.empty()) troubles.push_back("slowed by " + joined(names, ", "));
  }
  if (now.ecc_uncorrected.value_or(0) > 0) {
    troubles.push_back(fmt::format("{} uncorrected ECC errors", *now.ecc_uncorrected));
  }
  if (now.ecc_corrected.value_or(0) > 0) {
    troubles.push_back(fmt::format("{} corrected ECC errors", *now.ecc_corrected));
  }
  // Only the last Xids are shown, because they tell the present trouble.
  constexpr size_t kMostXids = 3;
  const size_t first = gpu.xids.size() > kMostXids ? gpu.xids.size() - kMostXids : 0;
  for (size_t i = first; i < gpu.xids.size(); ++i) {
    troubles.push_back("Xid " + std::to_string(gpu.xids[i]));
  }
  if (gpu.lost_readings > 0) troubles.push_back(fmt::format("{} readings lost", gpu.lost_readings));
  return troubles;
}

void put_troubles(TextCanvas& canvas, const GpuState& gpu) {
  const std::string line = joined(troubles_of(gpu), " · ");
  if (line.empty()) return;
  const Hue hue =
      gpu.xids.empty() && gpu.now.ecc_uncorrected.value_or(0) == 0 ? Hue::kYellow : Hue::kRed;
  canvas.left("", 4).left(line, kTerminalColumns - 6, hue).end_line();
}

void put_gpu(TextCanvas& canvas, const GpuState& gpu) {
  const nvml::GpuReading& now = gpu.now;
  canvas.right(std::to_string(gpu.index), 3).left(" ");
  canvas.left(elide(gpu.name.empty() ? kUnknown : gpu.name, 20), 23);
  if (now.is_lost) {
    canvas.left("lost: it fell off the bus; the driver's log says more", 0, Hue::kRed).end_line();
    return put_troubles(canvas, gpu);
  }
  canvas.right(percent(now.busy), 6, now.busy ? hue_of(*now.busy) : Hue::kNone).left("  ");
  const auto full = share_of(now.memory_used_bytes, now.memory_bytes);
  canvas.right(percent(full), 6, full ? hue_of(*full) : Hue::kNone);
  canvas.left(" of ").left(now.memory_bytes ? format_bytes(*now.memory_bytes) : kUnknown, 10);
  canvas.right(power_of(now), 14).right(number_of(now.sm_clock_mhz, "MHz"), 9);
  canvas.end_line();
  canvas.left("", 4).left(number_of(now.temperature_c, "°C")).left(" · memory bus ");
  canvas.left(percent(now.memory_busy));
  const nvml::GpuTraffic& traffic = gpu.traffic;
  canvas.left(" · GB/s in/out: PCIe ").left(both_ways(traffic.pcie_received, traffic.pcie_sent));
  canvas.left(", NVLink ").left(both_ways(traffic.nvlink_received, traffic.nvlink_sent));
  canvas.end_line();
  put_troubles(canvas, gpu);
}

}  // namespace

std::string as_text(const Snapshot& snapshot, const TextStyle& style) {
  TextCanvas canvas(style);
  put_host(canvas, snapshot, style.utf8);
  if (!snapshot.driver_error.empty()) {
    canvas.left("GPUs", kLabel + 8).left(snapshot.driver_error, 0, Hue::kRed).end_line();
    canvas.left("", kLabel + 8).left("redline doctor says how to fix it").end_line();
  } else if (snapshot.gpus.empty()) {
    canvas.left("GPUs", kLabel + 8).left("none: no NVIDIA driver shows one here").end_line();
  }
  if (snapshot.gpus.empty()) return canvas.take();
  canvas.end_line();
  canvas.left("GPU", 27, Hue::kDim).right("busy", 6, Hue::kDim).right("memory", 8, Hue::kDim);
  canvas.right("power", 28, Hue::kDim).right("SM", 9, Hue::kDim).end_line();
  for (const GpuState& gpu : snapshot.gpus) put_gpu(canvas, gpu);
  return canvas.take();
}

}  // namespace redline::monitor
