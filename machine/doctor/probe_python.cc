#include "base/json_values.h"
#include "machine/doctor/probe.h"
#include "machine/launch/command.h"

namespace redline::doctor {

namespace {

namespace fs = std::filesystem;

/// A cold import of torch from a network disk takes minutes.
constexpr std::chrono::minutes kImportLimit{3};

/// Prints one JSON object, even if torch is broken.
constexpr const char* kQuestions = R"python(
import importlib.metadata, json, platform, sys
answer = {"executable": sys.executable, "version": platform.python_version()}
for distribution in importlib.metadata.distributions():
    if (distribution.metadata["Name"] or "").startswith("nvidia-cuda-cupti"):
        answer["cupti"] = distribution.version
try:
    import torch
    def optional(question):
        try:
            return question()
        except Exception:
            return None
    nccl = optional(lambda: torch.cuda.nccl.version()) if torch.version.cuda else None
    answer["torch"] = {
        "version": torch.__version__,
        "cuda": torch.version.cuda,
        "cudnn": optional(torch.backends.cudnn.version),
        "nccl": ".".join(map(str, nccl)) if isinstance(nccl, tuple) else None,
        "architectures": optional(lambda: torch._C._cuda_getArchFlags().split()) or [],
        "cxx11_abi": torch.compiled_with_cxx11_abi(),
        "folder": torch.__path__[0],
    }
except Exception as error:
    answer["failure"] = f"{type(error).__name__}: {error}".splitlines()[0]
    answer["missing"] = isinstance(error, ModuleNotFoundError) and error.name == "torch"
print(json.dumps(answer))
)python";

/// The interpreter that a training command is likely to use.
std::string choose_interpreter(const Sources& sources) {
  if (auto asked = sources.environment("REDLINE_PYTHON"); asked && !asked->empty()) return *asked;
  const auto active = sources.environment("VIRTUAL_ENV");
  for (const fs::path& folder : {fs::path(active.value_or("")), fs::path(".venv")}) {
    const fs::path interpreter = folder / "bin/python";
    if (!folder.empty() && fs::exists(interpreter)) return interpreter;
  }
  return "python3";
}

/// Converts cuDNN's number to text: 91900 is "9.19.0", and 8902 was "8.9.2".
std::string cudnn_version(int number) {
  const int major_unit = number >= 90000 ? 10000 : 1000;
  return std::to_string(number / major_unit) + "." + std::to_string(number % major_unit / 100) +
         "." + std::to_string(number % 100);
}

Torch parse_torch(const nlohmann::json& answer) {
  Torch torch;
  torch.version = text_in(answer, "version");
  torch.cuda = CudaVersion::from_text(text_in(answer, "cuda"));
  if (answer["cudnn"].is_number_integer()) torch.cudnn = cudnn_version(answer["cudnn"]);
  torch.nccl = text_in(answer, "nccl");
  torch.architectures = answer["architectures"].get<std::vector<std::string>>();
  torch.cxx11_abi = answer["cxx11_abi"].get<bool>();
  torch.folder = text_in(answer, "folder");
  return torch;
}

}  // namespace

std::optional<Python> probe_python(const Sources& sources) {
  Python python;
  python.executable = choose_interpreter(sources);
  const auto version = launch::command_output({python.executable, "-c", "print()"}, kImportLimit);
  if (!version) return std::nullopt;
  const auto output = launch::command_output({python.executable, "-c", kQuestions}, kImportLimit);
  if (!output) {
    python.failure = "import torch: Python " + output.error();
    return python;
  }
  // Torch may print something while it is imported, so the answer is the last JSON object.
  const auto line = output->rfind('{', output->rfind("\"executable\""));
  if (line == std::string::npos) {
    python.failure = "import torch: Python ended without an error, but before its answer";
    return python;
  }
  auto answer = nlohmann::json::parse(output->substr(line), nullptr, false);
  if (answer.is_discarded()) return std::nullopt;
  python.executable = text_in(answer, "executable");
  python.version = text_in(answer, "version");
  python.cupti_distribution = text_in(answer, "cupti");
  python.failure = text_in(answer, "failure");
  python.torch_missing = answer.value("missing", false);
  if (answer.contains("torch")) python.torch = parse_torch(answer["torch"]);
  return python;
}

}  // namespace redline::doctor
