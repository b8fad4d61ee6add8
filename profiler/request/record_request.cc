#include "profiler/request/record_request.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "base/format.h"
#include "base/integer.h"
#include "base/json_values.h"
#include "base/launched_rank.h"
#include "profiler/request/run_name.h"
#include "profiler/request/trigger.h"

namespace redline::launch {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kTraceEnding = ".pt.trace.json.gz";
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
  const auto* field = std::ranges::find(profiler::kScheduleFields, name, [](const auto& each) {
    return std::string_view(each.first);
  });
  if (field == std::end(profiler::kScheduleFields)) return "no such part '" + name + "'";
  if (equals == std::string_view::npos) return name + " needs a number";
  const auto number = parse_integer(part.substr(equals + 1));
  if (!number) return std::string(part) + " is no number";
  schedule.*field->second = *number;
  return "";
}

const RecordNotes::Note* find_note(const std::vector<RecordNotes::Note>& notes,
                                   std::string_view what) {
  const auto found = std::ranges::find(notes, what, &RecordNotes::Note::what);
  return found == notes.end() ? nullptr : &*found;
}

tl::unexpected<std::string> refuse(const std::string& what) {
  return tl::unexpected(what + ". Build or install Redline whole: ./scripts/setup");
}

/// What the notes of the command's processes say about its lack of a trace; empty if nothing.
std::string noted_reason(const std::vector<RecordNotes::Note>& notes) {
  if (find_note(notes, "gone")) return "what was in the folder was removed while the command ran";
  for (const char* what : {"failed", "gave_up", "forked", "nothing"}) {
    if (const auto* note = find_note(notes, what)) return note->text;
  }
  const auto count = [&](std::string_view what) {
    return std::ranges::count(notes, what, &RecordNotes::Note::what);
  };
  if (count("watching") > count("finished")) return "the command ended before its trace began";
  if (count("excluded") > 0) return "every rank was left out by --ranks";
  if (count("torch") > 0) return "the command ran no operator of torch";
  return "";
}

std::string why_nothing(const std::vector<RecordNotes::Note>& notes,
                        std::optional<int> exit_status) {
  const std::string reason = noted_reason(notes);
  if (exit_status.value_or(0) != 0) {
    const std::string status = std::to_string(*exit_status);
    if (!reason.empty()) return "the command failed (exit status " + status + "); " + reason;
    return "the command failed (exit status " + status + ") before Redline saw it load torch";
  }
  if (!reason.empty()) return reason;
  return "no process of the command used a GPU, or loaded torch where Redline could see it "
         "(python -I, -E and -S hide it, and so do an emptied environment, a statically linked "
         "LibTorch, and PYTHONPATH=src without :$PYTHONPATH)";
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
  const auto folder = make_control_folder();
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

// Containers that share the folder have processes of the same number.
RecordNotes::RecordNotes(const std::string& directory)
    : path_(directory + "/.redline." + new_run_name() + ".notes") {
  std::ofstream(path_, std::ios::trunc);
}

RecordNotes::~RecordNotes() { unlink(path_.c_str()); }

// In one write, so that notes of several processes never mix.
bool RecordNotes::add(const Note& note) {
  const char* path = ::secure_getenv("REDLINE_NOTES");
  const int file = path != nullptr ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
  if (file < 0) return false;
  const std::string line =
      json_text(nlohmann::json{{"pid", getpid()}, {"what", note.what}, {"text", note.text}}) + '\n';
  const bool is_written = write(file, line.data(), line.size()) == std::ssize(line);
  close(file);
  return is_written;
}

std::vector<RecordNotes::Note> RecordNotes::read() const {
  std::vector<Note> notes;
  std::ifstream file(path_);
  if (!file) notes.push_back({"gone", ""});
  for (std::string line; std::getline(file, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    const std::string what = text_in(json, "what");
    if (!what.empty()) notes.push_back({what, text_in(json, "text")});
  }
  return notes;
}

TraceFiles list_traces(const std::string& directory) {
  TraceFiles files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(kTraceEnding)) files.whole.push_back(entry.path().string());
    if (name.ends_with(std::string(kTraceEnding) + ".partial")) {
      files.partial.push_back(entry.path().string());
    }
  }
  std::ranges::sort(files.whole);
  std::ranges::sort(files.partial);
  return files;
}

TraceFiles new_traces(const TraceFiles& before, const TraceFiles& now) {
  TraceFiles files;
  std::ranges::set_difference(now.whole, before.whole, std::back_inserter(files.whole));
  std::ranges::set_difference(now.partial, before.partial, std::back_inserter(files.partial));
  return files;
}

std::vector<std::string> summarise_recording(const std::string& folder, const TraceFiles& traces,
                                             const std::vector<RecordNotes::Note>& notes,
                                             std::optional<int> exit_status) {
  if (traces.whole.empty() && traces.partial.empty()) {
    return {"no trace in " + folder + ": " + why_nothing(notes, exit_status)};
  }
  std::vector<std::string> lines;
  if (!traces.whole.empty()) {
    lines.push_back(format_plural(std::ssize(traces.whole), "trace") + " in " + folder);
  }
  if (!traces.partial.empty()) {
    lines.push_back(format_plural(std::ssize(traces.partial), "unfinished trace") +
                    " (.partial) in " + folder + ": what had reached the disk can be read");
  }
  for (const char* what : {"failed", "cut", "no_rank", "whole_run", "backward", "forked"}) {
    if (const auto* note = find_note(notes, what)) lines.push_back(note->text);
  }
  lines.push_back("next: redline report " + format_command({folder}));
  return lines;
}

}  // namespace redline::launch
