#include "profiler/request/record_request.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>

#include "base/integer.h"
#include "base/launched_rank.h"
#include "base/run_name.h"
#include "profiler/request/trigger.h"

namespace redline::launch {

namespace fs = std::filesystem;

namespace {

constexpr const char* kNvtxTool = "NVTX_INJECTION64_PATH";
constexpr const char* kCudaTool = "CUDA_INJECTION64_PATH";
constexpr const char* kScheduleExample =
    ". Example: --schedule skip_first=0,wait=1,warmup=1,active=3,repeat=1";

tl::unexpected<std::string> schedule_error(const std::string& why) {
  return tl::unexpected(why + kScheduleExample);
}

/// Sets the field that `part`, a text NAME=N, names. Gives "", or why it cannot be set.
std::string set_field(Schedule& schedule, std::string_view part) {
  const size_t equals = part.find('=');
  const std::string name(part.substr(0, equals));
  int64_t* const field = profiler::schedule_field(schedule, name);
  if (field == nullptr) return "no such part '" + name + "'";
  if (equals == std::string_view::npos) return name + " needs a number";
  const auto number = parse_integer(part.substr(equals + 1));
  if (!number) return std::string(part) + " is no number";
  *field = *number;
  return "";
}

tl::unexpected<std::string> refuse(const std::string& what) {
  return tl::unexpected(what + ". Build or install Redline whole: ./scripts/setup");
}

}  // namespace

tl::expected<Schedule, std::string> parse_schedule(std::string_view text) {
  Schedule schedule = kDefaultSchedule;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    if (const std::string why = set_field(schedule, text.substr(0, comma)); !why.empty()) {
      return schedule_error(why);
    }
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  if (!schedule.is_valid()) {
    return schedule_error("active must be at least 1, and each number from 0 to 10^15");
  }
  return schedule;
}

tl::expected<void, std::string> prepare_directory(const std::string& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return tl::unexpected(error.message());
  // Tries to make a file, because permission bits do not tell of a read-only file system.
  const std::string probe = directory + "/.redline." + std::to_string(getpid());
  const int file = open(probe.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return tl::unexpected(std::string(std::strerror(errno)));
  close(file);
  unlink(probe.c_str());
  return {};
}

tl::expected<void, std::string> add_libraries(Environment& environment) {
  const auto core = library_path("libredline.so");
  if (!core) return refuse("libredline.so is not in ../lib");
  if (auto added = environment.add_python_startup(); !added) return added;
  environment.prepend("LD_PRELOAD", preload_name(*core));
  return {};
}

tl::expected<void, std::string> add_record_request(const profiler::RecordRequest& request,
                                                   Environment& environment) {
  const auto core = library_path("libredline.so");
  if (!core || !library_path("libredline_torch.so")) {
    return refuse("libredline.so and libredline_torch.so are not in ../lib");
  }
  if (const auto added = add_libraries(environment); !added) return added;
  add_nvtx_tool(environment);
  if (request.options.record_gpu && !environment.get(kCudaTool)) environment.set(kCudaTool, *core);
  environment.set("REDLINE_RECORD", profiler::to_json(request));
  // If a launcher started this very process as a rank, other ranks have recorders of their own, and
  // nothing tells which of them belong together.
  if (!launched_rank()) environment.set("REDLINE_RECORDING", new_run_name());
  return {};
}

std::string preload_name(const std::string& library) {
  constexpr const char* kSplits = " :";
  if (library.find_first_of(kSplits) == std::string::npos) return library;
  const auto folder = make_lasting_folder();
  if (!folder) return library;
  const fs::path target = fs::path(library).parent_path();
  const fs::path link =
      *folder + "/lib-" + std::to_string(std::hash<std::string>()(target.string()));
  std::error_code exists;
  fs::create_directory_symlink(target, link, exists);
  return link / fs::path(library).filename();
}

void add_nvtx_tool(Environment& environment) {
  const auto core = library_path("libredline.so");
  if (core && !environment.get(kNvtxTool)) environment.set(kNvtxTool, *core);
}

std::optional<std::string> other_nvtx_tool(const Environment& environment) {
  const auto tool = environment.get(kNvtxTool);
  return tool == library_path("libredline.so") ? std::nullopt : tool;
}

}  // namespace redline::launch
