#include "tuner/space/ranks.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <string_view>

#include "tuner/space/knob.h"

namespace redline::tuner {
namespace {

/// The options that count processes and nodes, as the launcher spells them.
struct Launcher {
  std::string_view name;
  std::vector<std::string_view> processes;
  std::vector<std::string_view> nodes;
  int otherwise = 1;  ///< processes without the option; 0: unknown
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
  if (text == "gpu") return gpus;
  if (text == "auto" && gpus > 0) return gpus;
  const auto number = parse_integer(text);
  return number && *number > 0 && *number < 1'000'000 ? number : std::nullopt;
}

}  // namespace

std::optional<int> ranks_of(const std::vector<std::string>& command, int gpus) {
  for (size_t i = 0; i < command.size(); ++i) {
    const std::string name = std::filesystem::path(command[i]).filename();
    const auto launcher =
        std::find_if(launchers().begin(), launchers().end(),
                     [&](const Launcher& candidate) { return candidate.name == name; });
    if (launcher == launchers().end()) continue;
    const auto words = std::span(command).subspan(i + 1);
    const auto processes = value_of(words, launcher->processes);
    const auto nodes = value_of(words, launcher->nodes);
    if (!processes && launcher->otherwise == 0) return std::nullopt;
    const auto count = processes ? count_of(*processes, gpus) : launcher->otherwise;
    const auto times = nodes ? count_of(*nodes, gpus) : 1;
    if (!count || !times) return std::nullopt;
    return static_cast<int>(*count * *times);
  }
  const bool python = !command.empty() &&
                      std::filesystem::path(command[0]).filename().string().starts_with("python");
  return python ? std::optional(1) : std::nullopt;
}

}  // namespace redline::tuner
