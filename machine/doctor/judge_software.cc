#include <fmt/format.h>

#include "base/format.h"
#include "machine/doctor/judge.h"

namespace redline::doctor {

namespace {

/// "2.11.0+cu130" -> "2.11". Torch's C++ ABI differs between minor releases.
std::string minor_release(const std::string& version) {
  const auto first = version.find('.');
  const auto second = first == std::string::npos ? first : version.find('.', first + 1);
  return version.substr(0, second);
}

bool has_working_gpu(const Facts& facts) { return facts.driver && !facts.driver->gpus.empty(); }

Check judge_torch(const Facts& facts, const Python& python) {
  const Torch& torch = *python.torch;
  Check check{State::kOk, "PyTorch", {torch.version}, ""};
  check.parts.push_back(torch.cuda ? "CUDA " + text_of(*torch.cuda) : "CPU only");
  check.parts.push_back("Python " + python.version);
  check.parts.push_back(python.executable);
  if (!torch.cuda && has_working_gpu(facts)) {
    check.state = State::kWarning;
    check.cure = "this torch cannot use the GPU: install one built for CUDA " +
                 (facts.driver->cuda ? text_of(*facts.driver->cuda) : "");
  }
  return check;
}

Check judge_gpu_libraries(const Torch& torch) {
  if (torch.cudnn.empty() && torch.nccl.empty()) {
    return {State::kAbsent, "cuDNN, NCCL", {"not in this torch"}, ""};
  }
  Check check{State::kOk, "cuDNN, NCCL", {}, ""};
  check.parts.push_back(torch.cudnn.empty() ? "no cuDNN" : "cuDNN " + torch.cudnn);
  check.parts.push_back(torch.nccl.empty() ? "no NCCL" : "NCCL " + torch.nccl);
  return check;
}

}  // namespace

std::vector<Check> judge_toolkit(const Facts& facts) {
  if (!facts.toolkit) {
    return {{State::kAbsent, "CUDA toolkit", {"none (torch brings what it needs)"}, ""}};
  }
  const Toolkit& toolkit = *facts.toolkit;
  Check check{State::kOk, "CUDA toolkit", {}, ""};
  check.parts.push_back(toolkit.version ? text_of(*toolkit.version) : "version unknown");
  check.parts.push_back(toolkit.folder);
  if (!toolkit.compiler) check.parts.push_back("no nvcc");
  const bool has_cuda_torch = facts.python && facts.python->torch && facts.python->torch->cuda;
  if (has_cuda_torch && toolkit.version &&
      toolkit.version->major != facts.python->torch->cuda->major) {
    check.state = State::kWarning;
    check.cure = fmt::format(
        "C++ extensions will not build against torch's CUDA {}: set CUDA_HOME "
        "to a toolkit of that major version",
        text_of(*facts.python->torch->cuda));
  }
  return {check};
}

std::vector<Check> judge_python(const Facts& facts) {
  const std::string choose = "activate your environment, or set REDLINE_PYTHON to its python";
  if (!facts.python) {
    return {{State::kWarning, "PyTorch", {"no Python 3 that runs"}, choose}};
  }
  const Python& python = *facts.python;
  if (python.torch_missing) {
    return {{State::kWarning, "PyTorch", {"not in " + python.executable}, choose}};
  }
  if (!python.torch) {
    return {{State::kError,
             "PyTorch",
             {python.failure, python.executable},
             "reinstall torch in this environment, or set REDLINE_PYTHON to another"}};
  }
  return {judge_torch(facts, python), judge_gpu_libraries(*python.torch)};
}

std::vector<Check> judge_recorder(const Facts& facts) {
  const Recorder& recorder = facts.recorder;
  if (!recorder.core) {
    return {{State::kError,
             "recorder",
             {"libredline.so is not beside redline"},
             "build or install all of Redline: cmake --build --preset release"}};
  }
  if (!recorder.adapter) {
    return {{State::kWarning,
             "recorder",
             {"built without LibTorch", "no CPU operators"},
             "cmake --preset release -DREDLINE_TORCH=ON -DREDLINE_PYTHON=/path/python, then cmake "
             "--build --preset release"}};
  }
  Check check{State::kOk, "recorder", {"for LibTorch " + recorder.adapter_torch}, ""};
  if (!facts.python || !facts.python->torch) return {check};
  const Torch& torch = *facts.python->torch;
  check.parts.push_back(torch.cxx11_abi ? "cxx11 ABI" : "pre-cxx11 ABI");
  if (minor_release(recorder.adapter_torch) != minor_release(torch.version) || !torch.cxx11_abi) {
    check.state = State::kWarning;
    check.cure = fmt::format(
        "it does not fit torch {}: run REDLINE_PYTHON={} ./scripts/setup in Redline's clone; if it "
        "came as a wheel, install a wheel that was built for this torch",
        torch.version, format_command({facts.python->executable}));
  }
  return {check};
}

std::vector<Check> judge_cupti(const Facts& facts) {
  if (!facts.cupti) {
    if (!has_working_gpu(facts)) return {{State::kAbsent, "CUPTI", {"no libcupti.so"}, ""}};
    return {{State::kWarning,
             "CUPTI",
             {"no libcupti.so: kernels are not recorded"},
             "install a torch for CUDA, or the CUDA toolkit with CUPTI"}};
  }
  Check check{State::kOk, "CUPTI", {}, ""};
  check.parts.push_back(facts.cupti->version.empty() ? facts.cupti->library.filename().string()
                                                     : facts.cupti->version);
  if (!has_working_gpu(facts)) return {check};
  if (facts.host.gpu_activity_restricted && !facts.host.administrator) {
    check.state = State::kWarning;
    check.parts.push_back("only processes with CAP_SYS_ADMIN may read GPU activity");
    check.cure =
        "options nvidia NVreg_RestrictProfilingToAdminUsers=0 in /etc/modprobe.d, reboot; or "
        "start the container with --cap-add SYS_ADMIN";
  }
  return {check};
}

}  // namespace redline::doctor
