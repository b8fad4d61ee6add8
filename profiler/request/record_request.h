// What `redline record` asks of the processes it starts, and what they tell it in return.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "machine/launch/environment.h"
#include "profiler/request/options.h"

namespace redline::launch {

inline constexpr Schedule kDefaultSchedule{
    .skip_first = 0, .wait = 1, .warmup = 1, .active = 3, .repeat = 1};

/// "wait=1,active=5": what is not named keeps kDefaultSchedule's value. The error is one line.
[[nodiscard]] tl::expected<Schedule, std::string> parse_schedule(std::string_view text);

/// Makes the request's folder and tries to write there; the error is the reason why not.
[[nodiscard]] tl::expected<void, std::string> prepare_directory(const std::string& directory);

/// Puts the request where Python processes (start-up hook) and LibTorch programs (LD_PRELOAD) find
/// it; its directory is absolute, since the command may change its own. The error names what of
/// Redline is missing.
[[nodiscard]] tl::expected<void, std::string> add_record_request(
    const profiler::RecordRequest& request, Environment& environment);

/// NVTX's ranges and marks come to libredline.so, unless the user gave them to another tool.
void add_nvtx_tool(Environment& environment);

/// The tool that the user gives NVTX's ranges to, where it is another: a process has only one, and
/// the user's stays.
[[nodiscard]] std::optional<std::string> other_nvtx_tool(const Environment& environment);

/// The file in which the command's Python processes note what became of their recording, one JSON
/// line a fact; gone with this object.
class RecordNotes {
 public:
  /// An empty file in `directory`, which all ranks of this machine can write.
  explicit RecordNotes(const std::string& directory);
  ~RecordNotes();
  RecordNotes(const RecordNotes&) = delete;
  RecordNotes& operator=(const RecordNotes&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

  struct Note {
    std::string what;  ///< python/redline/_automatic.py has the words
    std::string text;
  };
  /// What was noted so far; lines that are no notes are left out. "gone" where the file is.
  [[nodiscard]] std::vector<Note> read() const;

 private:
  std::string path_;
};

struct TraceFiles {
  std::vector<std::string> whole;    ///< paths, sorted
  std::vector<std::string> partial;  ///< what was on the disk of others when they were killed
};
[[nodiscard]] TraceFiles list_traces(const std::string& directory);
/// Those of `now` that were not there `before`.
[[nodiscard]] TraceFiles new_traces(const TraceFiles& before, const TraceFiles& now);

/// What a user wants to know after the command has ended, as lines for stderr: `traces` are the new
/// ones, `folder` is what the user called the directory.
[[nodiscard]] std::vector<std::string> summarise_recording(
    const std::string& folder, const TraceFiles& traces,
    const std::vector<RecordNotes::Note>& notes);

}  // namespace redline::launch
