// How `redline record` asks the processes it starts for traces, and what they tell it in return.
#pragma once

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

/// Reads a text such as "wait=1,active=5". A number that is not named keeps kDefaultSchedule's
/// value. The error is one line.
[[nodiscard]] tl::expected<Schedule, std::string> parse_schedule(std::string_view text);

/// Makes the request's folder and tries to write there; the error is the reason why not.
[[nodiscard]] tl::expected<void, std::string> prepare_directory(const std::string& directory);

/// Lets Python processes (by the start-up hook) and programs (by LD_PRELOAD) load libredline.so.
/// The error names the part of Redline that is missing, and the cure.
[[nodiscard]] tl::expected<void, std::string> add_libraries(Environment& environment);

/// Puts the request into the environment, with add_libraries(). The request's directory must be
/// absolute, because the command may change its working directory.
[[nodiscard]] tl::expected<void, std::string> add_record_request(
    const profiler::RecordRequest& request, Environment& environment);

/// A name of `library` for LD_PRELOAD, which splits at blanks and colons and knows no escape: then
/// by a link to its folder.
[[nodiscard]] std::string preload_name(const std::string& library);

/// Makes libredline.so the tool that gets NVTX's ranges and marks, unless the user has set another.
void add_nvtx_tool(Environment& environment);

/// The other tool that the user has set for NVTX's ranges, if there is one. A process has only one
/// such tool, so we leave the user's in place.
[[nodiscard]] std::optional<std::string> other_nvtx_tool(const Environment& environment);

/// The file in which the command's processes note what became of their recording, one JSON line for
/// each fact. The destructor removes the file.
class RecordNotes {
 public:
  /// Makes an empty file in `directory` that all ranks on this machine can write to.
  explicit RecordNotes(const std::string& directory);
  ~RecordNotes();
  RecordNotes(const RecordNotes&) = delete;
  RecordNotes& operator=(const RecordNotes&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

  struct Note {
    std::string what;  ///< the words are in python/redline/_automatic.py
    std::string text;
  };
  /// Adds a note of this process, which the command started. False if REDLINE_NOTES is out of
  /// reach.
  static bool add(const Note& note);
  /// All notes so far, without lines that are no notes. One note "gone" if the file was removed.
  [[nodiscard]] std::vector<Note> read() const;

 private:
  std::string path_;
};

struct TraceFiles {
  std::vector<std::string> whole;    ///< paths, sorted
  std::vector<std::string> partial;  ///< traces of processes that were killed while they recorded
};
[[nodiscard]] TraceFiles list_traces(const std::string& directory);
/// The files of `now` that are not in `before`.
[[nodiscard]] TraceFiles new_traces(const TraceFiles& before, const TraceFiles& now);

/// The lines for stderr after the command has ended. `traces` are the new ones; `folder` is the
/// directory as the user wrote it; `exit_status` is nullopt if other words tell how the command
/// ended.
[[nodiscard]] std::vector<std::string> summarise_recording(
    const std::string& folder, const TraceFiles& traces,
    const std::vector<RecordNotes::Note>& notes, std::optional<int> exit_status);

}  // namespace redline::launch
