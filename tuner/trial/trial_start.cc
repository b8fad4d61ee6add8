#include "tuner/trial/trial_start.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <atomic>
#include <cstdlib>
#include <functional>

#include "base/clock.h"
#include "base/file.h"
#include "machine/launch/process_tree.h"
#include "profiler/request/record_request.h"
#include "profiler/request/step_log_request.h"
#include "profiler/request/trigger.h"
#include "tuner/space/config.h"
#include "tuner/space/machine.h"

namespace redline::tuner {
namespace {

/// `port` if it is free, or any free one if it is 0; otherwise none.
std::optional<int> bindable_port(int port) {
  const FileDescriptor probe(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(probe.get(), generic, size) != 0) return std::nullopt;
  if (getsockname(probe.get(), generic, &size) != 0) return std::nullopt;
  return ntohs(address.sin_port);
}

/// A port that no other trial of this process gets. It is to stay free until the trial has imported
/// torch, so it is below those that the kernel gives to whoever asks for any.
int free_port() {
  constexpr int kFirst = 10'000;
  const std::string of_kernel = read_file("/proc/sys/net/ipv4/ip_local_port_range");
  const int count = std::atoi(of_kernel.c_str()) - kFirst;
  static std::atomic<uint64_t> next = static_cast<uint64_t>(monotonic_ns());  // anywhere
  for (int tries = 0; tries < 100 && count > 0; ++tries) {
    const int port = kFirst + static_cast<int>(next++ % static_cast<uint64_t>(count));
    if (bindable_port(port)) return port;
  }
  return bindable_port(0).value_or(29500);
}

namespace fs = std::filesystem;

/// Room for recording that is added to a --memory-limit on a process's data, because the user
/// limits the training alone.
constexpr uint64_t kRecorderRoom = uint64_t{512} << 20;

/// A socket's path may have 107 bytes, and Python's multiprocessing adds
/// "/pymp-12345678/listener-12345678" to TMPDIR.
constexpr size_t kLongestTemporary = 107 - 32;

tl::expected<void, std::string> add_recording(const TrialSpec& spec,
                                              const launch::RecordNotes& notes,
                                              launch::Environment& variables) {
  profiler::RecordRequest request;
  request.options.directory = fs::absolute(spec.record_to).string();
  request.step_marker = spec.step_marker;
  request.schedule = {.skip_first = 0, .wait = 2, .warmup = 1, .active = 5, .repeat = 1};
  variables.set("REDLINE_NOTES", notes.path());
  return launch::add_record_request(request, variables);
}

/// How many ranks the command starts there; 0 if only its launcher knows.
int ranks_in(const Share& share, const std::vector<std::string>& command) {
  const auto ranks = ranks_of(command, static_cast<int>(share.gpus.size()));
  return ranks.value_or(has_launcher(command) ? 0 : 1);
}

std::optional<uint64_t> data_limit(const TrialSpec& spec, const launch::Environment& variables) {
  if (!spec.memory_limit_bytes || sees_gpu(variables)) return std::nullopt;
  return *spec.memory_limit_bytes + (spec.record_to.empty() ? 0 : kRecorderRoom);
}

}  // namespace

launch::Environment trial_environment(const TrialSpec& spec, const TrialPaths& paths,
                                      const std::string& mark, std::set<std::string> used) {
  launch::Environment result;
  for (const auto& [name, value] : launch::Environment::current()) {
    result.set(name, fill_placeholders(value, spec.config, &used));
  }
  // If it fails, no rank reports.
  (void)launch::add_step_log(paths.directory, result);
  result.set("REDLINE_KNOBS", knobs_json(spec.config, used));
  result.set("REDLINE_TRIAL", paths.reports());
  result.unset("REDLINE_TRIAL_PROGRAM");  // of a trial that this autotune runs in
  // Tells the trial the value of {batch_size}, because without a DataLoader nothing else tells the
  // batch size.
  if (const auto batch = spec.config.find("batch_size");
      batch != spec.config.end() && used.contains("batch_size")) {
    result.set("REDLINE_BATCH_SIZE", batch->second);
  }
  result.set(launch::kMarkVariable, mark);
  if (spec.memory_limit_bytes) {
    result.set("REDLINE_MEMORY_LIMIT", std::to_string(*spec.memory_limit_bytes));
  }
  if (!spec.step_marker.empty()) {
    result.set("REDLINE_STEP_MARKER", spec.step_marker);
    launch::add_nvtx_tool(result);
  }
  if (!spec.metric_regex.empty()) result.set("REDLINE_METRIC", "1");
  if (spec.objective == Objective::kStepsPerSecond) {
    result.set("REDLINE_OBJECTIVE", word_of(spec.objective));
  }
  result.set("REDLINE_TRIAL_DIRECTORY", paths.directory);
  result.set("TMPDIR", paths.temporary());
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

std::string TrialPaths::temporary() const {
  const fs::path own = directory / "tmp";
  std::error_code ignored;
  const std::string whole = fs::absolute(own, ignored);
  if (whole.size() <= kLongestTemporary) return own;
  const auto folder = launch::make_lasting_folder();
  if (!folder) return own;
  return fmt::format("{}/tmp-{:016x}", *folder, std::hash<std::string>()(whole));
}

void TrialPaths::remove() const {
  std::error_code ignored;
  fs::remove_all(temporary(), ignored);
  fs::remove_all(stacks(), ignored);
  fs::remove(reports(), ignored);
  fs::remove_all(reports() + ".d", ignored);
}

tl::expected<TrialStart, std::string> prepare_start(
    const TrialSpec& spec, const TrialPaths& paths, const std::string& mark,
    const std::optional<SlurmStep>& step, const std::optional<launch::RecordNotes>& notes) {
  std::set<std::string> used;
  launch::TrackedOptions options;
  for (const std::string& word : spec.command) {
    options.argv.push_back(fill_placeholders(word, spec.config, &used));
  }
  launch::Environment variables = trial_environment(spec, paths, mark, std::move(used));
  // Without the hook only --metric tells anything.
  if (auto hook = variables.add_python_startup(); !hook && spec.metric_regex.empty()) {
    return tl::unexpected(hook.error());
  }
  restrict_to(spec.share, ranks_in(spec.share, options.argv), variables);
  if (notes) {
    if (auto added = add_recording(spec, *notes, variables); !added) {
      return tl::unexpected(added.error());
    }
  }
  options.environment = variables.strings();
  if (step) options.argv = step->named(std::move(options.argv));
  options.stdout_path = paths.output();
  options.stderr_path = paths.errors();
  options.data_limit_bytes = data_limit(spec, variables);
  options.cores = spec.share.cores;
  options.mark = mark;
  return TrialStart{std::move(options), std::move(variables)};
}

}  // namespace redline::tuner
