// The study: one SQLite file that holds every trial, so that a search killed anywhere goes on.
//
// A trial is written as 'started' before its processes exist and gets its result in one commit when
// they are gone; a row still 'started' when the file is opened belonged to a killed autotune and
// becomes 'interrupted'. The schema is documented in docs/study.md. A journal of JSON lines would
// do as well, but people want to query their trials.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tuner/search/history.h"
#include "tuner/study/claims.h"
#include "tuner/study/database.h"
#include "tuner/study/study_identity.h"

namespace redline::tuner {

/// A trial that runs now, in this process or another.
struct RunningTrial {
  int64_t id = 0;
  Proposal proposal;
};

class Study {
 public:
  /// Opens or makes the file. With `resume` it may be in use by others: then the search is shared.
  /// Errors (whole sentences without the program's name): it is in use, or has trials, one of them
  /// successful, and `resume` is false; it belongs to another command or space; it is not a study,
  /// or a newer version's.
  [[nodiscard]] static Result<Study> open(const std::string& path, const StudyIdentity& identity,
                                          bool resume);

  /// For looking alone: writes nothing, needs no lock, works while a search runs. The file must be
  /// a study.
  [[nodiscard]] static Result<Study> open_to_read(const std::string& path);
  [[nodiscard]] Result<StudyIdentity> identity() const;

  /// Trials of a study without a single success, dropped by open(): they answer no question.
  [[nodiscard]] int64_t dropped_failures() const { return dropped_failures_; }

  /// Another autotune had it open when this one came.
  [[nodiscard]] bool joined() const { return joined_; }

  /// In the order they ended, without the first `known` of them.
  [[nodiscard]] Result<std::vector<FinishedTrial>> finished(size_t known = 0) const;
  /// Trials that a killed autotune, or Ctrl-C, left without a result.
  [[nodiscard]] Result<int64_t> interrupted_count() const;

  struct Claim {
    std::optional<RunningTrial> mine;   ///< now started; nothing where `ask` had no proposal
    std::vector<RunningTrial> running;  ///< by all processes, this one too
  };
  /// One step that nobody can come between: what dead processes left is freed, `add` is told what
  /// is finished beyond the first `known` trials, `ask` is asked for the next, given those that
  /// run, and that is started.
  [[nodiscard]] Result<Claim> claim(
      size_t known, const std::function<void(FinishedTrial)>& add,
      const std::function<std::optional<Proposal>(const std::vector<Proposal>& running)>& ask);
  /// Shows others that this process lives: every Claims::kBeatEveryNs.
  [[nodiscard]] Result<void> beat();

  /// Returns the trial's number, 1, 2, ….
  [[nodiscard]] Result<int64_t> start(const Proposal& proposal);
  /// A result that comes after another process took the trial over is dropped.
  [[nodiscard]] Result<void> finish(int64_t id, const TrialResult& result);
  [[nodiscard]] Result<void> interrupt(int64_t id);

  /// Where trial `id` keeps its stdout and stderr: FILE without ".db", ".trials/ID".
  [[nodiscard]] std::string trial_directory(int64_t id) const;
  /// The folder of these folders.
  [[nodiscard]] std::string trials_directory() const;

 private:
  /// The kernel takes the lock back however the process ends.
  class FileLock {
   public:
    explicit FileLock(int descriptor) : descriptor_(descriptor) {}
    FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    FileLock(const FileLock&) = delete;
    FileLock& operator=(FileLock&&) = delete;
    FileLock& operator=(const FileLock&) = delete;
    ~FileLock();
    /// From now on others may open the file, too.
    [[nodiscard]] bool share() const;

   private:
    int descriptor_;
  };

  Study(FileLock lock, Database database, std::string path)
      : lock_(std::move(lock)), database_(std::move(database)), path_(std::move(path)) {}
  /// `alone`: nobody else has the file open, and nobody can open it until share().
  [[nodiscard]] static Result<FileLock> lock(const std::string& path, bool resume, bool& alone);
  [[nodiscard]] Result<void> share(const StudyIdentity& identity);
  [[nodiscard]] Result<void> prepare(const StudyIdentity& identity, bool resume);
  [[nodiscard]] Result<void> free_orphans();
  [[nodiscard]] Result<std::vector<RunningTrial>> running() const;
  [[nodiscard]] Result<int64_t> insert_started(const Proposal& proposal);
  [[nodiscard]] Result<void> write_result(int64_t id, const TrialResult& result);
  [[nodiscard]] Result<void> mark_interrupted(int64_t id);
  [[nodiscard]] Result<void> check_version(bool& empty) const;
  [[nodiscard]] Result<void> write_identity(const StudyIdentity& identity);
  [[nodiscard]] Result<void> check_identity(const StudyIdentity& identity) const;
  [[nodiscard]] Result<int64_t> count(const std::string& condition) const;

  // Closed after the database: closing any descriptor of a file drops SQLite's own locks on it.
  FileLock lock_;
  Database database_;
  std::string path_;
  Claims claims_;
  bool joined_ = false;
  int64_t dropped_failures_ = 0;
};

/// A study as it lies in its file: what was searched, and the trials in the order they ended.
struct StudyContent {
  std::string path;
  StudyIdentity identity;
  Space space;
  std::vector<FinishedTrial> trials;
  int64_t interrupted = 0;
  std::string trials_directory;  ///< with a folder a trial, named by its number

  /// The content must outlive it.
  [[nodiscard]] History history() const;
};
/// The error is a sentence that begins with the path.
[[nodiscard]] Result<StudyContent> read_study(const std::string& path);

}  // namespace redline::tuner
