// The study: one SQLite file with every trial, so that a search that was killed at any point can go
// on.
//
// A trial is written as 'started' before its processes exist, and gets its result in one commit
// when they are gone. So no result is half written. A row that is still 'started' although nobody
// runs it (claims.h) belonged to a killed autotune; it becomes 'interrupted' and is run again.
//
// A journal of JSON lines was rejected, although it would survive a kill as well: people want to
// query their trials, and several searches share one file. docs/study.md describes the schema.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/file.h"
#include "tuner/search/history.h"
#include "tuner/study/claims.h"
#include "tuner/study/database.h"
#include "tuner/study/study_rows.h"

namespace redline::tuner {

/// A trial that runs now, in this process or another.
struct RunningTrial {
  int64_t id = 0;
  Proposal proposal;
};

class Study {
 public:
  /// Opens or makes the file. With `resume` other processes may use it at the same time; they then
  /// search together. Without `resume` it is an error if somebody uses the file or if it holds a
  /// successful trial. It is always an error if it belongs to another command or space, if it is no
  /// study, or if a newer version made it. Errors are whole sentences without the program's name.
  [[nodiscard]] static Result<Study> open(const std::string& path, const StudyIdentity& identity,
                                          bool resume);

  /// The file of a search that names none: the first of `path`, PATH-2.db, PATH-3.db, … that does
  /// not exist, has no successful trial and no other command that uses it, or (unless the search
  /// starts `anew`) has the same `identity`. It may also be a file that is no study; open() then
  /// says so.
  [[nodiscard]] static std::string own_path(const std::string& path, const StudyIdentity& identity,
                                            bool anew);

  /// Opens it only for reading: writes nothing, needs no lock, and works while a search runs. It is
  /// an error if the file is no study.
  [[nodiscard]] static Result<Study> open_to_read(const std::string& path);
  [[nodiscard]] Result<StudyIdentity> identity() const;
  /// Whether open() would go on with the trials that the file holds. The error is why it would not
  /// open it.
  [[nodiscard]] Result<bool> goes_on(const StudyIdentity& identity, bool resume) const;

  /// How many trials open() dropped. If not one trial succeeded it drops all, because a search has
  /// nothing to build on then.
  [[nodiscard]] int64_t dropped_failures() const { return dropped_failures_; }

  /// Whether another autotune had the file open when this one opened it.
  [[nodiscard]] bool joined() const { return joined_; }

  /// The finished trials in the order in which they ended, without the first `known`.
  [[nodiscard]] Result<std::vector<FinishedTrial>> finished(size_t known = 0) const;
  /// How many trials a killed autotune, or Ctrl-C, left without a result.
  [[nodiscard]] Result<int64_t> interrupted_count() const;

  struct Claim {
    std::optional<RunningTrial> mine;   ///< just started; nullopt if `ask` had no proposal
    std::vector<RunningTrial> running;  ///< the trials that all processes run, including this one
  };
  /// Does all of this in one transaction: frees the trials of dead processes, passes the finished
  /// trials after the first `known` to `add`, asks `ask` for the next trial beside those that run,
  /// and writes it as started. So two processes never start the same trial.
  [[nodiscard]] Result<Claim> claim(
      size_t known, const std::function<void(FinishedTrial)>& add,
      const std::function<std::optional<Proposal>(const std::vector<Proposal>& running)>& ask);
  /// Shows others that this process lives. Must be called every Claims::kBeatEveryNs.
  [[nodiscard]] Result<void> beat();

  /// Writes a trial as started and returns its number: 1, 2, ….
  [[nodiscard]] Result<int64_t> start(const Proposal& proposal);
  /// Writes the result, or drops it if another process has taken over the trial meanwhile.
  [[nodiscard]] Result<void> finish(int64_t id, const TrialResult& result);
  [[nodiscard]] Result<void> interrupt(int64_t id);

  /// Keeps why the search ended before its budget was used, for people who look at the study later.
  [[nodiscard]] Result<void> keep_why_ended(const std::string& sentence);
  [[nodiscard]] Result<std::string> why_ended() const;

  /// The folder in which trial `id` keeps its stdout and stderr: the study's name with ".trials/ID"
  /// for ".db".
  [[nodiscard]] std::string trial_directory(int64_t id) const;
  /// The folder that has all these folders.
  [[nodiscard]] std::string trials_directory() const;

 private:
  Study(FileDescriptor lock, Database database, std::string path)
      : lock_(std::move(lock)), database_(std::move(database)), path_(std::move(path)) {}
  /// Sets `alone` if nobody else has the file open; then nobody can open it until share().
  [[nodiscard]] static Result<FileDescriptor> lock(const std::string& path, bool resume,
                                                   bool& alone);
  [[nodiscard]] Result<void> share(const StudyIdentity& identity);
  [[nodiscard]] Result<void> prepare(const StudyIdentity& identity, bool resume);
  [[nodiscard]] Result<void> free_orphans(const Transaction& transaction);
  [[nodiscard]] Result<std::vector<RunningTrial>> running() const;
  [[nodiscard]] Result<int64_t> insert_started(const Transaction& transaction,
                                               const Proposal& proposal);
  [[nodiscard]] Result<void> write_result(const Transaction& transaction, int64_t id,
                                          const TrialResult& result);
  [[nodiscard]] Result<void> mark_interrupted(const Transaction& transaction, int64_t id);
  [[nodiscard]] Result<void> check_version(bool& empty) const;
  [[nodiscard]] Result<void> write_identity(const StudyIdentity& identity);
  [[nodiscard]] Result<void> check_identity(const StudyIdentity& identity) const;
  [[nodiscard]] Result<int64_t> count(const std::string& condition) const;

  // The kernel releases the lock (flock) however the process ends. Must be closed after the
  // database, because closing any descriptor of a file drops SQLite's own locks on it.
  FileDescriptor lock_;
  Database database_;
  std::string path_;
  Claims claims_;
  bool joined_ = false;
  int64_t dropped_failures_ = 0;
};

/// The content of a study's file: what was searched, and the trials in the order in which they
/// ended.
struct StudyContent {
  std::string path;
  StudyIdentity identity;
  Space space;
  std::vector<FinishedTrial> trials;
  int64_t interrupted = 0;
  std::string why_ended;
  std::string trials_directory;  ///< has a folder for each trial, named by its number

  /// The content must outlive the history.
  [[nodiscard]] History history() const;
};
/// The error is a sentence that begins with the path.
[[nodiscard]] Result<StudyContent> read_study(const std::string& path);

}  // namespace redline::tuner
