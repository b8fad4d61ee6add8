#include "machine/launch/srun.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <span>
#include <thread>

#include "base/file.h"
#include "machine/launch/command.h"
#include "machine/launch/environment.h"
#include "machine/launch/output_tail.h"

namespace redline::launch {
namespace {

std::vector<std::string> under_srun(size_t node, const std::vector<std::string>& command) {
  std::vector<std::string> words = srun_words();
  for (const char* option : {"--nodes=1", "--ntasks=1", "--cpu-bind=none", "--input=none"}) {
    words.emplace_back(option);
  }
  words.push_back("--relative=" + std::to_string(node));
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

constexpr std::chrono::milliseconds kSrunPoll{20};

// False, and the child still runs, if `stop` is set before its end.
bool has_ended(pid_t child, int& wait_status, const std::atomic<bool>& stop) {
  while (waitpid(child, &wait_status, WNOHANG) == 0) {
    if (stop) return false;
    std::this_thread::sleep_for(kSrunPoll);
  }
  return true;
}

NodeOutput output_of(int status, const std::string& out, const std::string& err) {
  if (status == 0) return read_file(out);
  const std::string why = last_lines(tail_of(err, 4096), 1);
  return tl::unexpected("ended with status " + std::to_string(status) +
                        (why.empty() ? "" : ": " + why));
}

}  // namespace

std::vector<std::string> srun_words() {
  std::vector<std::string> words = {"srun"};
  if (std::getenv("SLURM_STEP_ID") != nullptr) words.emplace_back("--overlap");
  return words;
}

tl::expected<size_t, std::string> slurm_nodes() {
  for (const char* name : {"SLURM_JOB_NUM_NODES", "SLURM_NNODES"}) {
    const char* value = std::getenv(name);
    const long nodes = value == nullptr ? 0 : std::strtol(value, nullptr, 10);
    if (nodes > 0 && std::getenv("SLURM_JOB_ID") != nullptr) return static_cast<size_t>(nodes);
  }
  return tl::unexpected(std::string(
      "--launcher slurm: this is no Slurm job. Start it in one: salloc --nodes 4, or sbatch"));
}

void run_on_nodes(size_t nodes,
                  const std::function<std::vector<std::string>(size_t node)>& command_of,
                  const std::function<void(size_t node, NodeOutput output)>& take,
                  const std::atomic<bool>& stop) {
  const ScratchFolder folder("redline-nodes");
  const auto file = [&](size_t node, const char* suffix) {
    return folder.path() + "/" + std::to_string(node) + suffix;
  };
  const std::vector<std::string> environment = Environment::current().strings();
  std::vector<tl::expected<pid_t, std::string>> started;
  for (size_t node = 0; node < nodes && !stop; ++node) {
    const std::string out = file(node, ".out"), err = file(node, ".err");
    started.push_back(start_command(under_srun(node, command_of(node)), environment, [&] {
      constexpr int kNew = O_WRONLY | O_CREAT | O_TRUNC;
      return redirect(out.c_str(), kNew, STDOUT_FILENO) &&
             redirect(err.c_str(), kNew, STDERR_FILENO);
    }));
  }
  size_t node = 0;
  for (; node < started.size(); ++node) {
    const auto& srun = started[node];
    int status = 0;
    if (!srun) {
      take(node, tl::unexpected("did not start: " + srun.error()));
    } else if (has_ended(*srun, status, stop)) {
      take(node, output_of(exit_status(status), file(node, ".out"), file(node, ".err")));
    } else {
      break;
    }
  }
  const auto stopped = std::span(started).subspan(node);
  for (const auto& srun : stopped) {
    if (srun) kill(*srun, SIGTERM);  // srun passes it on to the command
  }
  for (const auto& srun : stopped) {
    if (srun) static_cast<void>(wait_for_exit(*srun));
  }
}

}  // namespace redline::launch
