#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "base/format.h"
#include "machine/doctor/judge.h"
#include "machine/doctor/nvidia.h"

namespace redline::doctor {

namespace {

Check no_driver(const HostFacts& host) {
  if (host.nvidia_device_nodes) {
    return {State::kError,
            "driver",
            {"an NVIDIA driver runs, but libnvidia-ml.so.1 is not found"},
            "in a container: start it with --gpus all; else add the folder of the driver's "
            "libraries to LD_LIBRARY_PATH"};
  }
  if (host.nvidia_kernel_driver) {
    return {State::kWarning,
            "driver",
            {"an NVIDIA driver runs, but /dev/nvidiactl is missing"},
            "a container gets GPUs by --gpus all, in Kubernetes by nvidia.com/gpu in its limits"};
  }
  if (host.nvidia_hardware) {
    return {State::kWarning,
            "driver",
            {"an NVIDIA GPU without its driver"},
            "install the driver (Debian: nvidia-driver) and reboot"};
  }
  return {State::kAbsent, "driver", {"no NVIDIA driver", "training runs on the CPU"}, ""};
}

std::string nvml_cure(int status) {
  if (status == nvml::kLibraryMismatch) {
    return "the driver was updated while it ran: reboot, or unload and load its kernel module";
  }
  if (status == nvml::kDriverNotLoaded) {
    return "load it with modprobe nvidia; where that fails, install the driver for this kernel";
  }
  if (status == nvml::kGpuIsLost) {
    return "it fell off the bus: reboot the machine; dmesg has the driver's Xid";
  }
  return "nvidia-smi and dmesg say more";
}

/// Within one major version older drivers run newer programs ("minor version compatibility").
void judge_fit(const Facts& facts, Check& check) {
  if (!facts.python || !facts.python->torch || !facts.python->torch->cuda) return;
  const CudaVersion wanted = *facts.python->torch->cuda;
  const CudaVersion offered = *facts.driver->cuda;
  if (offered >= wanted) return;
  check.parts.push_back(fmt::format("PyTorch wants CUDA {}", text_of(wanted)));
  check.cure = fmt::format("update the driver, or install a torch that is built for CUDA {}",
                           text_of(offered));
  check.state = offered.major == wanted.major ? State::kWarning : State::kError;
}

std::string mig_text(const GpuFacts& gpu) {
  return "MIG on, " + format_plural(gpu.mig_instances, "instance");
}

/// Whether a torch build has code that runs on this GPU: for its version, for an older one with the
/// same major version, or PTX.
bool built_for(const Torch& torch, const GpuFacts& gpu) {
  for (const std::string& name : torch.architectures) {
    const auto digits = name.find('_');
    if (digits == std::string::npos) continue;
    const int number = std::atoi(name.c_str() + digits + 1);
    const int own = gpu.compute_major * 10 + gpu.compute_minor;
    if (number > own) continue;
    if (name.starts_with("compute_") || number / 10 == gpu.compute_major) return true;
  }
  return torch.architectures.empty();
}

Check judge_gpu(const Facts& facts, const GpuFacts& gpu) {
  Check check{State::kOk, fmt::format("GPU {}", gpu.index), {gpu.name}, ""};
  if (gpu.memory_bytes && gpu.free_bytes) {
    check.parts.push_back(space_text(*gpu.memory_bytes, *gpu.free_bytes));
  }
  check.parts.push_back(fmt::format("sm_{}{}", gpu.compute_major, gpu.compute_minor));
  if (gpu.mig.value_or(false)) check.parts.push_back(mig_text(gpu));
  if (gpu.pcie) {
    check.parts.push_back(fmt::format("PCIe gen{} x{}", gpu.pcie->generation, gpu.pcie->width));
  }
  if (facts.python && facts.python->torch && !built_for(*facts.python->torch, gpu)) {
    check.state = State::kError;
    check.cure = fmt::format("torch {} has no code for sm_{}{}: install a torch built for it",
                             facts.python->torch->version, gpu.compute_major, gpu.compute_minor);
  } else if (gpu.mig.value_or(false) && gpu.mig_instances == 0) {
    check.state = State::kError;
    check.cure = "MIG has no instance to compute on: nvidia-smi mig -cgi …, or turn it off";
  } else if (gpu.pcie && gpu.pcie->width < gpu.pcie->max_width) {
    check.state = State::kWarning;
    check.cure =
        fmt::format("only {} of {} PCIe lanes: copies to the GPU are slower; check the slot",
                    gpu.pcie->width, gpu.pcie->max_width);
  }
  return check;
}

std::string text_of_level(int level) {
  if (level <= nvml::kOneBoard) return "on one board";
  if (level <= nvml::kOneSwitch) return "at one PCIe switch";
  if (level <= nvml::kManySwitches) return "over several PCIe switches";
  if (level <= nvml::kOneHostBridge) return "over one host bridge";
  if (level <= nvml::kOneNode) return "in one NUMA node";
  return "across sockets";
}

/// A GPU without links may be one for displays, or one without a bridge.
std::string text_of_links(const std::vector<GpuFacts>& gpus) {
  std::vector<int> linked;
  for (const GpuFacts& gpu : gpus) {
    if (gpu.nvlinks.value_or(0) > 0) linked.push_back(*gpu.nvlinks);
  }
  if (linked.empty()) return "no NVLink";
  std::string text = fmt::format("NVLink: {} up each", std::ranges::min(linked));
  if (linked.size() < gpus.size()) {
    text += fmt::format(" on {} of {} GPUs", linked.size(), gpus.size());
  }
  return text;
}

Check judge_topology(const Driver& driver) {
  Check check{State::kOk, "GPU topology", {}, ""};
  std::map<int, int> pairs_at;
  for (const GpuPair& pair : driver.pairs) ++pairs_at[pair.level];
  for (const auto& [level, pairs] : pairs_at) {
    check.parts.push_back(format_plural(pairs, "pair") + " " + text_of_level(level));
  }
  check.parts.push_back(text_of_links(driver.gpus));
  return check;
}

std::string cuda_cure(int status) {
  if (status == kCudaSystemNotReady) return "start nvidia-fabricmanager, of the driver's version";
  if (status == kCudaDriverMismatch) return "the driver was updated while it ran: reboot";
  return "nvidia-smi and dmesg say more";
}

}  // namespace

std::vector<Check> judge_driver(const Facts& facts) {
  if (!facts.driver) return {no_driver(facts.host)};
  const Driver& driver = *facts.driver;
  if (driver.status != nvml::kSuccess) {
    // Container images for GPUs have the library even on machines without a GPU. Nothing is broken.
    const HostFacts& host = facts.host;
    const bool expected =
        host.nvidia_device_nodes || (host.nvidia_hardware && !host.nvidia_kernel_driver);
    if (!expected && driver.status == nvml::kDriverNotLoaded) return {no_driver(host)};
    return {{State::kError, "driver", {driver.failure}, nvml_cure(driver.status)}};
  }
  Check check{State::kOk, "driver", {driver.version}, ""};
  if (driver.cuda) {
    check.parts.push_back("CUDA " + text_of(*driver.cuda));
    judge_fit(facts, check);
  }
  return {check};
}

std::vector<Check> judge_gpus(const Facts& facts) {
  std::vector<Check> checks;
  if (!facts.driver || facts.driver->status != nvml::kSuccess) return checks;
  for (const GpuFacts& gpu : facts.driver->gpus) {
    checks.push_back(judge_gpu(facts, gpu));
  }
  for (const UnusableGpu& gpu : facts.driver->unusable) {
    checks.push_back(
        {State::kError, fmt::format("GPU {}", gpu.index), {gpu.failure}, nvml_cure(gpu.status)});
  }
  if (facts.driver->gpus.size() > 1) checks.push_back(judge_topology(*facts.driver));
  if (checks.empty()) {
    checks.push_back({State::kWarning,
                      "GPU",
                      {"the driver shows none"},
                      "check the machine's or the container's GPU devices with nvidia-smi"});
  }
  return checks;
}

std::vector<Check> judge_visibility(const Facts& facts) {
  const bool has_gpus = facts.driver && !facts.driver->gpus.empty();
  const auto& variable = facts.cuda_visible_devices;
  if (!has_gpus) {
    if (!variable) return {};
    return {{State::kAbsent, "visible GPUs", {"CUDA_VISIBLE_DEVICES=" + *variable}, ""}};
  }
  if (!facts.cuda) {
    return {{State::kError,
             "visible GPUs",
             {"libcuda.so.1 is not found"},
             "install the driver's CUDA library (Debian: libcuda1)"}};
  }
  const int status = facts.cuda->status;
  if (status != kCudaSuccess && status != kCudaNoDevice) {
    return {{State::kError,
             "visible GPUs",
             {fmt::format("CUDA does not start (error {})", status)},
             cuda_cure(status)}};
  }
  const int devices = status == kCudaSuccess ? facts.cuda->devices : 0;
  Check check{
      State::kOk,
      "visible GPUs",
      {fmt::format("{} of {}", devices, facts.driver->gpus.size() + facts.driver->unusable.size())},
      ""};
  if (variable) check.parts.push_back("CUDA_VISIBLE_DEVICES=" + *variable);
  if (devices == 0) {
    check.state = State::kWarning;
    check.cure = variable
                     ? "programs see no GPU: unset CUDA_VISIBLE_DEVICES, or name GPUs that exist"
                     : "programs see no GPU: check the permissions of /dev/nvidia*";
  }
  return {check};
}

}  // namespace redline::doctor
