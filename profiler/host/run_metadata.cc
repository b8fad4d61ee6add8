#include "profiler/host/run_metadata.h"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

namespace redline::profiler {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr const char* kShown[] = {
    "CUBLAS_WORKSPACE_CONFIG",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_DEVICE_ORDER",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_MODULE_LOADING",
    "CUDA_VISIBLE_DEVICES",
    "GLOO_SOCKET_IFNAME",
    "GOMP_CPU_AFFINITY",
    "GROUP_RANK",
    "KMP_AFFINITY",
    "KMP_BLOCKTIME",
    "LD_PRELOAD",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "MALLOC_ARENA_MAX",
    "MALLOC_CONF",
    "MASTER_ADDR",
    "MASTER_PORT",
    "MKL_NUM_THREADS",
    "NCCL_ALGO",
    "NCCL_BUFFSIZE",
    "NCCL_DEBUG",
    "NCCL_IB_DISABLE",
    "NCCL_IB_HCA",
    "NCCL_MAX_NCHANNELS",
    "NCCL_MIN_NCHANNELS",
    "NCCL_NET",
    "NCCL_NVLS_ENABLE",
    "NCCL_P2P_DISABLE",
    "NCCL_PROTO",
    "NCCL_SHM_DISABLE",
    "NCCL_SOCKET_IFNAME",
    "NVIDIA_TF32_OVERRIDE",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "OMP_NUM_THREADS",
    "OMP_PLACES",
    "OMP_PROC_BIND",
    "OPENBLAS_NUM_THREADS",
    "PMI_RANK",
    "PMI_SIZE",
    "PYTHONHASHSEED",
    "PYTHONOPTIMIZE",
    "PYTORCH_ALLOC_CONF",
    "PYTORCH_CUDA_ALLOC_CONF",
    "RANK",
    "SLURM_CPUS_PER_TASK",
    "SLURM_JOB_ID",
    "SLURM_LOCALID",
    "SLURM_NNODES",
    "SLURM_NODEID",
    "SLURM_NTASKS",
    "SLURM_PROCID",
    "TORCHELASTIC_MAX_RESTARTS",
    "TORCHELASTIC_RESTART_COUNT",
    "TORCHINDUCTOR_MAX_AUTOTUNE",
    "TORCH_COMPILE_DISABLE",
    "TORCH_CPP_LOG_LEVEL",
    "TORCH_DISTRIBUTED_DEBUG",
    "TORCH_LOGS",
    "TORCH_NCCL_ASYNC_ERROR_HANDLING",
    "TORCH_NCCL_BLOCKING_WAIT",
    "WORLD_SIZE",
};

constexpr std::string_view kSecretWords[] = {"key", "token",      "secret", "passw",
                                             "pwd", "credential", "auth"};
constexpr const char* kHidden = "***";
constexpr size_t kMostWords = 256;
constexpr size_t kMostWordBytes = 4096;  ///< of one word

bool is_secret_name(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char letter) { return std::tolower(letter); });
  for (const std::string_view harmless : {"tokeniz", "tokens"}) {
    if (const size_t at = lower.find(harmless); at != std::string::npos) {
      lower.erase(at, harmless.size());
    }
  }
  return std::ranges::any_of(
      kSecretWords, [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

/// https://user:password@host
void hide_password_of_address(std::string& word) {
  const size_t scheme = word.find("://");
  if (scheme == std::string::npos) return;
  const size_t begin = scheme + 3;
  const size_t end = word.find('@', begin);
  if (end != std::string::npos && end < word.find('/', begin)) {
    word.replace(begin, end - begin, kHidden);
  }
}

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> command_line(const std::string& root) {
  std::vector<std::string> words;
  const std::string text = text_of(root + "/proc/self/cmdline");
  for (size_t begin = 0; begin < text.size() && words.size() < kMostWords;) {
    const size_t end = std::min(text.find('\0', begin), text.size());
    words.push_back(text.substr(begin, std::min(end - begin, kMostWordBytes)));
    begin = end + 1;
  }
  return words;
}

/// What stands after `key` and a colon in the first line that begins with it.
std::string value_of(const std::string& file, std::string_view key) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(key)) continue;
    const size_t begin = line.find_first_not_of(" \t", line.find(':') + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

std::optional<double> number_in(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (end == text.c_str()) return std::nullopt;
  return number;
}

/// The folder of this process for a controller of cgroup v1, or of v2 where that is "".
std::string cgroup_folder(const std::string& root, const std::string& controller) {
  std::ifstream lines(root + "/proc/self/cgroup");
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string names = "," + line.substr(first + 1, second - first - 1) + ",";
    if (names != "," + controller + "," &&
        names.find("," + controller + ",") == std::string::npos) {
      continue;
    }
    const std::string mount = root + "/sys/fs/cgroup/" + controller;
    const std::string own = mount + line.substr(second + 1);
    // In a container the path is often that of the host, and what it names is the mount itself.
    return std::filesystem::exists(own) ? own : mount;
  }
  return "";
}

/// Cores that the cgroup grants, as a number such as 1.5.
std::optional<double> cpu_limit(const std::string& root) {
  if (const std::string v2 = text_of(cgroup_folder(root, "") + "/cpu.max"); !v2.empty()) {
    const auto quota = number_in(v2);
    const auto period = number_in(v2.substr(std::min(v2.find(' '), v2.size())));
    if (quota && period && *period > 0) return *quota / *period;
  }
  const std::string v1 = cgroup_folder(root, "cpu");
  const auto quota = number_in(text_of(v1 + "/cpu.cfs_quota_us"));
  const auto period = number_in(text_of(v1 + "/cpu.cfs_period_us"));
  if (v1.empty() || !quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return *quota / *period;
}

std::optional<double> memory_limit(const std::string& root) {
  constexpr double kUnlimited = 1e18;  // v1 says so by a number near 2^63
  auto bytes = number_in(text_of(cgroup_folder(root, "") + "/memory.max"));
  const std::string v1 = cgroup_folder(root, "memory");
  if (!bytes && !v1.empty()) bytes = number_in(text_of(v1 + "/memory.limit_in_bytes"));
  return bytes && *bytes < kUnlimited ? bytes : std::nullopt;
}

int64_t usable_cores() {
  cpu_set_t cores;
  return sched_getaffinity(0, sizeof(cores), &cores) == 0 ? CPU_COUNT(&cores) : 0;
}

OrderedJson machine(const std::string& root) {
  OrderedJson json;
  utsname system = {};
  if (uname(&system) == 0) json["kernel"] = system.release;
  const std::string cpu = value_of(root + "/proc/cpuinfo", "model name");
  if (!cpu.empty()) json["cpu"] = cpu;
  json["cores"] = sysconf(_SC_NPROCESSORS_ONLN);
  if (const int64_t cores = usable_cores(); cores > 0) json["usable_cores"] = cores;
  if (const auto cores = cpu_limit(root)) json["cpu_limit"] = *cores;
  if (const auto kib = number_in(value_of(root + "/proc/meminfo", "MemTotal"))) {
    json["memory_bytes"] = static_cast<int64_t>(*kib * 1024);
  }
  if (const auto bytes = memory_limit(root))
    json["memory_limit_bytes"] = static_cast<int64_t>(*bytes);
  return json;
}

}  // namespace

std::span<const char* const> shown_variables() { return kShown; }

std::vector<std::string> without_secrets(std::vector<std::string> words) {
  bool is_next_secret = false;
  for (std::string& word : words) {
    const bool is_option = word.starts_with("-");
    const size_t equals = word.find('=');
    const bool is_named_secret = is_secret_name(word.substr(0, equals));
    if (equals != std::string::npos && is_named_secret) {
      word.replace(equals + 1, std::string::npos, kHidden);
    } else if (is_next_secret && !is_option) {
      word = kHidden;
    } else {
      hide_password_of_address(word);
    }
    is_next_secret = is_option && equals == std::string::npos && is_named_secret;
  }
  return words;
}

std::string run_metadata(const std::string& root, const char* const* environment) {
  OrderedJson shown = OrderedJson::object();
  size_t others = 0;
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const std::string_view name = entry.substr(0, entry.find('='));
    if (std::ranges::find(kShown, name) == std::end(kShown)) {
      ++others;
    } else {
      shown[std::string(name)] = entry.substr(std::min(name.size() + 1, entry.size()));
    }
  }
  const OrderedJson run{{"argv", without_secrets(command_line(root))},
                        {"environment", shown},
                        {"environment_not_shown", others},
                        {"machine", machine(root)}};
  return run.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

const std::string& run_metadata() {
  static const auto* const text = new std::string(run_metadata("", environ));  // for ever
  return *text;
}

}  // namespace redline::profiler
