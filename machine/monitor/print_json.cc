#include "base/json_values.h"
#include "machine/monitor/snapshot.h"

namespace redline::monitor {
namespace {

using Json = nlohmann::ordered_json;

Json rate_or_null(const std::optional<double>& bytes_per_second) {
  return bytes_per_second ? Json(static_cast<int64_t>(*bytes_per_second)) : Json(nullptr);
}

Json describe_host(const HostState& host) {
  Json cores = Json::array();
  for (const Core& core : host.cores) cores.push_back({{"core", core.number}, {"busy", core.busy}});
  return {{"name", host.name},
          {"busy", host.busy},
          {"cores", cores},
          {"load", host.load},
          {"memory_bytes", host.memory_bytes},
          {"memory_used_bytes", host.memory_used_bytes},
          {"shm_bytes", host.shm_bytes},
          {"shm_used_bytes", host.shm_used_bytes},
          {"disk_read_bytes_per_s", rate_or_null(host.disk_read)},
          {"disk_written_bytes_per_s", rate_or_null(host.disk_written)}};
}

Json describe_gpu(const GpuState& gpu) {
  const nvml::GpuReading& now = gpu.now;
  return {{"index", gpu.index},
          {"name", text_or_null(gpu.name)},
          {"uuid", text_or_null(gpu.uuid)},
          {"lost", now.is_lost},
          {"busy", now.busy},
          {"memory_busy", now.memory_busy},
          {"memory_bytes", now.memory_bytes},
          {"memory_used_bytes", now.memory_used_bytes},
          {"power_w", now.power_w},
          {"power_limit_w", now.power_limit_w},
          {"sm_clock_mhz", now.sm_clock_mhz},
          {"memory_clock_mhz", now.memory_clock_mhz},
          {"temperature_c", now.temperature_c},
          {"throttled", now.throttle_reasons ? Json(nvml::throttle_names(*now.throttle_reasons))
                                             : Json(nullptr)},
          {"pcie_received_bytes_per_s", rate_or_null(gpu.traffic.pcie_received)},
          {"pcie_sent_bytes_per_s", rate_or_null(gpu.traffic.pcie_sent)},
          {"nvlink_received_bytes_per_s", rate_or_null(gpu.traffic.nvlink_received)},
          {"nvlink_sent_bytes_per_s", rate_or_null(gpu.traffic.nvlink_sent)},
          {"ecc_corrected", now.ecc_corrected},
          {"ecc_uncorrected", now.ecc_uncorrected},
          {"xids", gpu.xids},
          {"lost_readings", gpu.lost_readings}};
}

}  // namespace

std::string as_json(const Snapshot& snapshot, const Json& jobs) {
  Json gpus = Json::array();
  for (const GpuState& gpu : snapshot.gpus) gpus.push_back(describe_gpu(gpu));
  const Json json = {{"schema", "redline.monitor/1"},
                     {"time_ns", snapshot.time_ns},
                     {"interval_ns", snapshot.interval_ns},
                     {"host", describe_host(snapshot.host)},
                     {"driver", text_or_null(snapshot.driver)},
                     {"driver_error", text_or_null(snapshot.driver_error)},
                     {"gpus", gpus},
                     {"jobs", jobs}};
  return json_text(json) + "\n";
}

}  // namespace redline::monitor
