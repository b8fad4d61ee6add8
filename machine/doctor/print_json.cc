#include <fmt/format.h>

#include "base/json_values.h"
#include "base/terminal.h"
#include "machine/doctor/judge.h"

namespace redline::doctor {

static void to_json(nlohmann::ordered_json& json, CudaVersion version) { json = text_of(version); }

namespace {

using Json = nlohmann::ordered_json;

/// The object that `describe` makes of a value, or null.
template <typename Value, typename Describe>
Json describe_or_null(const std::optional<Value>& value, Describe describe) {
  return value ? describe(*value) : Json(nullptr);
}

Json describe_driver(const Driver& driver) {
  return {{"version", text_or_null(driver.version)},
          {"cuda", driver.cuda},
          {"failure", text_or_null(driver.failure)}};
}

Json describe_gpu(const GpuFacts& gpu) {
  Json json{{"index", gpu.index},
            {"name", gpu.name},
            {"uuid", text_or_null(gpu.uuid)},
            {"memory_bytes", gpu.memory_bytes},
            {"free_bytes", gpu.free_bytes},
            {"compute_capability", fmt::format("{}.{}", gpu.compute_major, gpu.compute_minor)},
            {"mig", gpu.mig},
            {"mig_instances", gpu.mig_instances},
            {"nvlinks", gpu.nvlinks}};
  json["pcie"] = describe_or_null(gpu.pcie, [](const Pcie& pcie) -> Json {
    return {{"generation", pcie.generation}, {"width", pcie.width}, {"max_width", pcie.max_width}};
  });
  return json;
}

Json describe_gpus(const Facts& facts) {
  return facts.driver ? list_json(facts.driver->gpus, describe_gpu) : Json::array();
}

Json describe_unusable(const Facts& facts) {
  if (!facts.driver) return Json::array();
  return list_json(facts.driver->unusable, [](const UnusableGpu& gpu) {
    return Json{{"index", gpu.index}, {"failure", gpu.failure}};
  });
}

Json describe_pairs(const Facts& facts) {
  if (!facts.driver) return Json::array();
  return list_json(facts.driver->pairs, [](const GpuPair& pair) {
    return Json{{"gpus", {pair.first, pair.second}}, {"level", pair.level}};
  });
}

Json describe_data(const DataFolder& data) {
  return {{"folder", data.folder.string()},
          {"filesystem", text_or_null(data.filesystem)},
          {"source", text_or_null(data.source)},
          {"rotating", data.rotating},
          {"bytes", data.bytes},
          {"free_bytes", data.free_bytes}};
}

Json describe_network(const Network& network) {
  const Json interfaces =
      list_json(network.interfaces, [](const NetworkInterface& interface) -> Json {
        return {
            {"name", interface.name}, {"up", interface.up}, {"megabits_per_s", interface.megabits}};
      });
  const Json ports = list_json(network.infiniband, [](const InfinibandPort& port) -> Json {
    return {{"name", port.name}, {"active", port.active}, {"rate", text_or_null(port.rate)}};
  });
  return {{"interfaces", interfaces},
          {"infiniband", ports},
          {"nccl_socket_ifname", network.nccl_interfaces},
          {"gloo_socket_ifname", network.gloo_interfaces}};
}

Json describe_clock(const Clock& clock) {
  return {{"synchronised", clock.synchronised},
          {"most_error_ns", clock.most_error_ns},
          {"daemon", text_or_null(clock.daemon)}};
}

Json describe_runtime(const CudaRuntime& cuda) {
  return {{"status", cuda.status}, {"devices", cuda.devices}};
}

Json describe_toolkit(const Toolkit& toolkit) {
  return {{"folder", toolkit.folder.string()},
          {"version", toolkit.version},
          {"compiler", toolkit.compiler}};
}

Json describe_torch(const Torch& torch) {
  return {{"version", torch.version},
          {"cuda", torch.cuda},
          {"cudnn", text_or_null(torch.cudnn)},
          {"nccl", text_or_null(torch.nccl)},
          {"architectures", torch.architectures},
          {"cxx11_abi", torch.cxx11_abi},
          {"folder", torch.folder.string()}};
}

Json describe_python(const Python& python) {
  return {{"executable", python.executable},
          {"version", text_or_null(python.version)},
          {"torch", describe_or_null(python.torch, describe_torch)},
          {"failure", text_or_null(python.failure)}};
}

Json describe_cupti(const Cupti& cupti) {
  return {{"library", cupti.library.string()}, {"version", text_or_null(cupti.version)}};
}

Json describe_recorder(const Recorder& recorder) {
  return {{"core", recorder.core},
          {"adapter", recorder.adapter},
          {"adapter_torch", text_or_null(recorder.adapter_torch)}};
}

Json describe_host(const HostFacts& host) {
  return {{"cores", host.cores},
          {"memory_bytes", host.memory_bytes},
          {"available_bytes", host.available_bytes},
          {"shm_bytes", host.shm_bytes},
          {"shm_free_bytes", host.shm_free_bytes},
          {"open_files", host.open_files},
          {"cgroup_delegated", host.cgroup_delegated},
          {"gpu_activity_restricted", host.gpu_activity_restricted},
          {"administrator", host.administrator},
          {"perf_event_paranoid", host.perf_event_paranoid},
          {"ptrace_scope", host.ptrace_scope}};
}

const char* name_of(State state) {
  switch (state) {
    case State::kOk:
      return "ok";
    case State::kWarning:
      return "warning";
    case State::kError:
      return "error";
    case State::kAbsent:
      break;
  }
  return "absent";
}

Json describe_check(const Check& check) {
  return {{"name", check.name},
          {"state", name_of(check.state)},
          {"text", joined(check.parts, ", ")},
          {"cure", text_or_null(check.cure)}};
}

}  // namespace

std::string as_json(const Facts& facts, const std::vector<Check>& checks) {
  Json json{{"schema", "redline.doctor/1"},
            {"errors", count(checks, State::kError)},
            {"warnings", count(checks, State::kWarning)},
            {"driver", describe_or_null(facts.driver, describe_driver)},
            {"gpus", describe_gpus(facts)},
            {"unusable_gpus", describe_unusable(facts)},
            {"gpu_pairs", describe_pairs(facts)},
            {"cuda", describe_or_null(facts.cuda, describe_runtime)},
            {"cuda_visible_devices", facts.cuda_visible_devices},
            {"toolkit", describe_or_null(facts.toolkit, describe_toolkit)},
            {"python", describe_or_null(facts.python, describe_python)},
            {"cupti", describe_or_null(facts.cupti, describe_cupti)},
            {"recorder", describe_recorder(facts.recorder)},
            {"host", describe_host(facts.host)},
            {"data", describe_or_null(facts.data, describe_data)},
            {"network", describe_network(facts.network)},
            {"clock", describe_or_null(facts.clock, describe_clock)},
            {"checks", list_json(checks, describe_check)}};
  return json_text(json, 2) + "\n";
}

}  // namespace redline::doctor
