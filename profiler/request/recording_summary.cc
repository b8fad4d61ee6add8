#include "profiler/request/recording_summary.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/format.h"
#include "base/json_values.h"
#include "base/run_name.h"
#include "base/user_switch.h"

namespace redline::launch {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kTraceEnding = ".pt.trace.json.gz";

const RecordNotes::Note* find_note(const std::vector<RecordNotes::Note>& notes,
                                   std::string_view what) {
  const auto found = std::ranges::find(notes, what, &RecordNotes::Note::what);
  return found == notes.end() ? nullptr : &*found;
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
         "(python -I, -E and -S hide it, and so do a Python before 3.8, an emptied environment, "
         "a statically linked LibTorch, and PYTHONPATH=src without :$PYTHONPATH)";
}

}  // namespace

// Containers that share the folder have processes of the same number.
RecordNotes::RecordNotes(const std::string& directory)
    : path_(directory + "/.redline." + new_run_name() + ".notes") {
  std::ofstream(path_, std::ios::trunc);
}

RecordNotes::~RecordNotes() { unlink(path_.c_str()); }

// In one write, so that notes of several processes never mix.
bool RecordNotes::add(const Note& note) {
  const int file = open(user_variable("REDLINE_NOTES").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
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
