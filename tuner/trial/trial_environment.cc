#include "tuner/trial/trial_environment.h"

#include <fmt/format.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tuner/space/config.h"
#include "tuner/trial/process_tree.h"

namespace redline::tuner {

namespace {

/// A port that was free a moment ago, so that no two trials meet in one rendezvous.
int free_port() {
  const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  const bool bound =
      probe >= 0 && bind(probe, generic, size) == 0 && getsockname(probe, generic, &size) == 0;
  if (probe >= 0) close(probe);
  return bound ? ntohs(address.sin_port) : 29500;
}

}  // namespace

launch::Environment trial_environment(TrialEnvironment trial) {
  launch::Environment result;
  for (const auto& [name, value] : launch::Environment::current()) {
    result.set(name, fill_placeholders(value, trial.config, &trial.used));
  }
  (void)result.add_python_startup();  // without it no rank reports, and the trial's message says so
  result.set("REDLINE_KNOBS", knobs_json(trial.config, trial.used));
  result.set("REDLINE_TRIAL", trial.reports);
  result.set(kTrialIdVariable, trial.mark);
  if (trial.memory_limit_bytes) {
    result.set("REDLINE_MEMORY_LIMIT", std::to_string(*trial.memory_limit_bytes));
  }
  result.set("REDLINE_TRIAL_DIRECTORY", trial.directory);
  result.set("TMPDIR", trial.temporary);
  // torchrun takes the defaults of its options from PET_*; scripts that start their own ranks read
  // MASTER_PORT. An option on the command line still wins.
  const std::string port = std::to_string(free_port());
  result.set("MASTER_PORT", port);
  result.set("PET_MASTER_PORT", port);
  return result;
}

void restrict_to(const Share& share, int ranks, launch::Environment& environment) {
  if (!share.gpus.empty()) {
    environment.set("CUDA_VISIBLE_DEVICES", fmt::format("{}", fmt::join(share.gpus, ",")));
  }
  if (!share.cores.empty() && ranks == 1 && !environment.get("OMP_NUM_THREADS")) {
    environment.set("OMP_NUM_THREADS", std::to_string(share.cores.size()));
  }
}

bool sees_gpu(const launch::Environment& environment) {
  const std::string visible = environment.get("CUDA_VISIBLE_DEVICES").value_or("all");
  return !visible.empty() && visible != "-1" && access("/dev/nvidiactl", F_OK) == 0;
}

}  // namespace redline::tuner
