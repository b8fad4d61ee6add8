// What became of a recording: the traces in its folder, and what the processes have noted.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace redline::launch {

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
