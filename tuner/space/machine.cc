#include "tuner/space/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>

#include "base/format.h"
#include "machine/resources.h"
#include "tuner/space/knob.h"

namespace redline::tuner {
namespace {

/// How many of the driver's GPUs CUDA_VISIBLE_DEVICES lets through.
int visible_gpus(const std::string& root) {
  std::error_code ignored;
  if (!std::filesystem::exists(root + "/dev/nvidiactl", ignored)) return 0;
  int present = 0;
  for (const auto& gpu :
       std::filesystem::directory_iterator(root + "/proc/driver/nvidia/gpus", ignored)) {
    present += gpu.is_directory(ignored) ? 1 : 0;
  }
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible == nullptr) return present;
  const std::string_view names(visible);
  if (names.empty() || names.front() == '-') return 0;
  return std::min(present, 1 + static_cast<int>(std::ranges::count(names, ',')));
}

/// The models of all GPUs of the driver, each once.
std::string gpu_models(const std::string& root) {
  std::set<std::string> models;
  std::error_code ignored;
  for (const auto& gpu :
       std::filesystem::directory_iterator(root + "/proc/driver/nvidia/gpus", ignored)) {
    std::ifstream information(gpu.path() / "information");
    for (std::string line; std::getline(information, line);) {
      if (!line.starts_with("Model:")) continue;
      const size_t begin = line.find_first_not_of(" \t", line.find(':') + 1);
      if (begin != std::string::npos) models.insert(line.substr(begin));
    }
  }
  return fmt::format("{}", fmt::join(models, ", "));
}

/// Writes 0,1,2,5 as "0-2,5".
std::string ranges_text(const std::vector<int>& numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", numbers[i]);
    if (last > i) text += fmt::format("-{}", numbers[last]);
    i = last + 1;
  }
  return text;
}

template <typename Value>
std::vector<Value> part(const std::vector<Value>& all, size_t index, size_t size) {
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(index * size);
  return {begin, begin + static_cast<std::ptrdiff_t>(size)};
}

std::vector<std::string> gpu_names() {
  std::vector<std::string> names;
  const int count = detect_machine().gpus;
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES"); visible && count > 0) {
    std::istringstream words(visible);
    for (std::string name; std::getline(words, name, ',');) names.push_back(name);
    return names;
  }
  for (int gpu = 0; gpu < count; ++gpu) names.push_back(std::to_string(gpu));
  return names;
}

/// The launcher's options that give the numbers of processes and nodes.
struct Launcher {
  std::string_view name;
  std::vector<std::string_view> processes;
  std::vector<std::string_view> nodes;
  int otherwise = 1;  ///< number of processes without the option; 0: unknown
};

const std::vector<Launcher>& launchers() {
  static const std::vector<Launcher> kLaunchers = {
      {"torchrun", {"--nproc_per_node", "--nproc-per-node"}, {"--nnodes"}},
      {"torch.distributed.run", {"--nproc_per_node", "--nproc-per-node"}, {"--nnodes"}},
      {"torch.distributed.launch", {"--nproc_per_node", "--nproc-per-node"}, {"--nnodes"}},
      {"mpirun", {"-np", "-n", "--np"}, {}, 0},
      {"mpiexec", {"-np", "-n", "--np"}, {}, 0},
      {"srun", {"--ntasks", "-n"}, {}, 0},
      {"accelerate", {"--num_processes"}, {}, 0},
      {"accelerate.commands.launch", {"--num_processes"}, {}, 0},
  };
  return kLaunchers;
}

/// The launcher of this name or path; null if it is none.
const Launcher* launcher_of(const std::string& word) {
  const std::string name = std::filesystem::path(word).filename();
  const auto found = std::ranges::find(launchers(), name, &Launcher::name);
  return found == launchers().end() ? nullptr : &*found;
}

/// How many words behind this option are its values, as far as we know the launchers' options.
size_t values_behind(std::string_view option) {
  constexpr std::string_view kFlags[] = {"--allow-run-as-root",
                                         "--oversubscribe",
                                         "--report-bindings",
                                         "--tag-output",  // mpirun
                                         "--use-hwthread-cpus",
                                         "-q",
                                         "-v",
                                         "--verbose",
                                         "--quiet",  // both
                                         "--exclusive",
                                         "--label",
                                         "-l",
                                         "--overcommit",
                                         "-O",
                                         "--unbuffered",
                                         "-u"};  // srun
  if (option.find('=') != std::string_view::npos) return 0;
  if (std::ranges::find(kFlags, option) != std::end(kFlags)) return 0;
  return option == "--mca" ? 2 : 1;
}

/// The words before the program that the launcher starts, whose options are its own.
std::span<const std::string> launchers_words(std::span<const std::string> words) {
  size_t count = !words.empty() && words[0] == "launch" ? 1 : 0;  // of accelerate
  while (count < words.size() && words[count].starts_with('-')) {
    const size_t last = count + values_behind(words[count]);
    for (++count; count <= last && count < words.size() && !words[count].starts_with('-');) ++count;
  }
  return words.first(count);
}

/// The value of the first option of `names`: "--name value" or "--name=value".
std::optional<std::string> value_of(std::span<const std::string> words,
                                    const std::vector<std::string_view>& names) {
  for (size_t i = 0; i < words.size(); ++i) {
    for (const std::string_view name : names) {
      if (words[i] == name && i + 1 < words.size()) return words[i + 1];
      if (words[i].starts_with(name) && words[i].size() > name.size() &&
          words[i][name.size()] == '=') {
        return words[i].substr(name.size() + 1);
      }
    }
  }
  return std::nullopt;
}

std::optional<int64_t> count_of(const std::string& text, int gpus) {
  if (text == "gpu" || text == "auto")
    return gpus > 0 ? std::optional<int64_t>(gpus) : std::nullopt;
  const auto number = parse_integer(text);
  return number && *number > 0 && *number < 1'000'000 ? number : std::nullopt;
}

}  // namespace

Machine detect_machine(const std::string& root) {
  const int gpus = visible_gpus(root);
  return {.gpu = gpus > 0,
          .gpus = gpus,
          .cores = machine::cores(root).usable(),
          .gpu_model = gpus > 0 ? gpu_models(root) : ""};
}

std::string Machine::text() const {
  const std::string text = format_plural(cores, "core");
  if (gpus == 0) return text;
  const std::string model = gpu_model.empty() ? "" : fmt::format(" ({})", gpu_model);
  return fmt::format("{}{} and {}", format_plural(gpus, "GPU"), model, text);
}

bool Machine::differs_from(const Machine& other) const {
  const bool knows_models = !gpu_model.empty() && !other.gpu_model.empty();
  return gpus != other.gpus || (knows_models && gpu_model != other.gpu_model) ||
         4 * std::max(cores, other.cores) > 5 * std::min(cores, other.cores);
}

std::string Share::text() const {
  std::string text;
  if (!gpus.empty()) text = fmt::format("GPU {}", fmt::join(gpus, ","));
  if (cores.empty()) return text.empty() ? "the whole machine" : text;
  return fmt::format("{}{}core{} {}", text, text.empty() ? "" : ", ", cores.size() == 1 ? "" : "s",
                     ranges_text(cores));
}

Devices detect_devices() { return {.gpus = gpu_names(), .cores = machine::cores().allowed}; }

tl::expected<std::vector<Share>, std::string> split_into_shares(const Devices& devices,
                                                                int parallel) {
  const auto count = static_cast<size_t>(parallel);
  if (count <= 1) return std::vector<Share>(1);
  const bool has_gpus = !devices.gpus.empty();
  const size_t most = has_gpus ? devices.gpus.size() : devices.cores.size();
  if (count > most) {
    return tl::unexpected(
        fmt::format("--parallel {}: each trial needs a {} of its own, and {} {} "
                    "visible. Give at most --parallel {}",
                    parallel, has_gpus ? "GPU" : "core", most, most == 1 ? "is" : "are",
                    std::max<size_t>(most, 1)));
  }
  std::vector<Share> shares(count);
  for (size_t i = 0; i < count; ++i) {
    if (has_gpus) shares[i].gpus = part(devices.gpus, i, devices.gpus.size() / count);
    if (devices.cores.size() >= count) {
      shares[i].cores = part(devices.cores, i, devices.cores.size() / count);
    }
  }
  return shares;
}

Machine machine_of(const Share& share, Machine machine) {
  if (!share.gpus.empty()) machine.gpus = static_cast<int>(share.gpus.size());
  if (!share.cores.empty()) machine.cores = static_cast<int>(share.cores.size());
  return machine;
}

std::optional<int> ranks_of(const std::vector<std::string>& command, int gpus) {
  for (size_t i = 0; i < command.size(); ++i) {
    const Launcher* const launcher = launcher_of(command[i]);
    if (!launcher) continue;
    const auto words = launchers_words(std::span(command).subspan(i + 1));
    const auto processes = value_of(words, launcher->processes);
    const auto nodes = value_of(words, launcher->nodes);
    if (!processes && launcher->otherwise == 0) return std::nullopt;
    const auto count = processes ? count_of(*processes, gpus) : launcher->otherwise;
    const auto times = nodes ? count_of(*nodes, gpus) : 1;
    if (!count || !times) return std::nullopt;
    return static_cast<int>(*count * *times);
  }
  return is_python(command) ? std::optional(1) : std::nullopt;
}

bool has_launcher(const std::vector<std::string>& command) {
  return std::ranges::any_of(command, launcher_of);
}

bool is_python(const std::vector<std::string>& command) {
  return !command.empty() &&
         std::filesystem::path(command[0]).filename().string().starts_with("python");
}

}  // namespace redline::tuner
