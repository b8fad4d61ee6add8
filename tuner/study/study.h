// The study: one SQLite file with every trial, so that a search that was killed anywhere can go on.
//
// A trial is written as 'started' before its processes exist, and gets its result in one commit
// when they are gone. So no result is half written, and a row that is still 'started' with nobody
// who runs it (claims.h) belonged to a killed autotune; it becomes 'interrupted' and is run again.
//
// A journal of JSON lines was rejected, although it would survive a kill as well: people want to
// query their trials, and several searches share one file. docs/study.md describes the schema.
#pragma once

#include <functional>
#include <string>
#include <vector>

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
  /// Opens or makes the file. With `resume` others may use it at the same time: then they search
  /// together. Without it, it is an error that somebody uses the file or that it holds a successful
  /// trial. It is also an error that it belongs to another command or space, that it is no study,
  /// or that a newer version made it. Errors are whole sentences without the program's name.
  [[nodiscard]] static Result<Study> open(const std::string& path, const StudyIdentity& identity,
                                          bool resume);

  /// The file of a search that names none: `path`, else PATH-2.db, PATH-3.db, …. It is the first
  /// that does not exist, has no successful trial, or (unless the search starts `anew`) has the
  /// same `identity`; or one that is no study, of which open() says so.
  [[nodiscard]] static std::string own_path(const std::string& path, const StudyIdentity& identity,
                                            bool anew);

  /// To read only: writes nothing, needs no lock, works while a search runs. That the file is no
  /// study is an error.
  [[nodiscard]] static Result<Study> open_to_read(const std::string& path);
  [[nodiscard]] Result<StudyIdentity> identity() const;

  /// How many trials open() dropped: all of them where not one succeeded, since a search has
  /// nothing to build on then.
  [[nodiscard]] int64_t dropped_failures() const { return dropped_failures_; }

  /// Another autotune had the file open when this one opened it.
  [[nodiscard]] bool joined() const { return joined_; }

  /// In the order in which they ended, without the first `known`.
  [[nodiscard]] Result<std::vector<FinishedTrial>> finished(size_t known = 0) const;
  /// Trials that a killed autotune, or Ctrl-C, left without a result.
  [[nodiscard]] Result<int64_t> interrupted_count() const;

  struct Claim {
    std::optional<RunningTrial> mine;   ///< now started; nothing where `ask` had no proposal
    std::vector<RunningTrial> running;  ///< by all processes, this one too
  };
  /// In one transaction: frees the trials of dead processes, gives `add` what is finished beyond
  /// the first `known` trials, asks `ask` for the next, given those that run, and writes it as
  /// started. So two processes never start the same trial.
  [[nodiscard]] Result<Claim> claim(
      size_t known, const std::function<void(FinishedTrial)>& add,
      const std::function<std::optional<Proposal>(const std::vector<Proposal>& running)>& ask);
  /// Shows others that this process lives; to be called every Claims::kBeatEveryNs.
  [[nodiscard]] Result<void> beat();

  /// Writes a trial as started and returns its number: 1, 2, ….
  [[nodiscard]] Result<int64_t> start(const Proposal& proposal);
  /// Writes the result; drops it where another process has taken the trial over meanwhile.
  [[nodiscard]] Result<void> finish(int64_t id, const TrialResult& result);
  [[nodiscard]] Result<void> interrupt(int64_t id);

  /// Why the search ended before its budget was used, for whoever looks at the study later.
  [[nodiscard]] Result<void> keep_why_ended(const std::string& sentence);
  [[nodiscard]] Result<std::string> why_ended() const;

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
  std::string why_ended;
  std::string trials_directory;  ///< with a folder a trial, named by its number

  /// The content must outlive it.
  [[nodiscard]] History history() const;
};
/// The error is a sentence that begins with the path.
[[nodiscard]] Result<StudyContent> read_study(const std::string& path);

}  // namespace redline::tuner
