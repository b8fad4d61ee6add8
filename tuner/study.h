// The study: one SQLite file that holds every trial, so that a search killed anywhere goes on.
//
// A trial is written as 'started' before its processes exist and gets its result in one commit when
// they are gone; a row still 'started' when the file is opened belonged to a killed autotune and
// becomes 'interrupted'. The schema is documented in docs/study.md. A journal of JSON lines would
// do as well, but people want to query their trials.
#pragma once

#include <string>
#include <vector>

#include "tuner/database.h"
#include "tuner/history.h"

namespace redline::tuner {

/// What makes results comparable. A study is only resumed with the same.
struct StudyIdentity {
  std::vector<std::string> command;
  std::string space;  ///< Space::signature()
  std::optional<uint64_t> memory_limit_bytes;
  std::string metric_regex;
  std::string memory_metric_regex;
};

class Study {
 public:
  /// Opens or makes the file. Errors (whole sentences without the program's name): it is in use by
  /// another autotune; it has trials, one of them successful, and `resume` is false; it belongs to
  /// another command or space; it is not a study, or a newer version's.
  [[nodiscard]] static Result<Study> open(const std::string& path, const StudyIdentity& identity,
                                          bool resume);

  /// For looking alone: needs no lock, and works while a search runs. The file must be a study.
  [[nodiscard]] static Result<Study> open_to_read(const std::string& path);
  [[nodiscard]] Result<StudyIdentity> identity() const;

  /// Trials of a study without a single success, dropped by open(): they answer no question.
  [[nodiscard]] int64_t dropped_failures() const { return dropped_failures_; }

  /// In the order they ended.
  [[nodiscard]] Result<std::vector<FinishedTrial>> finished() const;
  /// Trials that a killed autotune, or Ctrl-C, left without a result.
  [[nodiscard]] Result<int64_t> interrupted_count() const;

  /// Returns the trial's number, 1, 2, ….
  [[nodiscard]] Result<int64_t> start(const Proposal& proposal);
  [[nodiscard]] Result<void> finish(int64_t id, const TrialResult& result);
  [[nodiscard]] Result<void> interrupt(int64_t id);

  /// Where trial `id` keeps its stdout and stderr: FILE without ".db", ".trials/ID".
  [[nodiscard]] std::string trial_directory(int64_t id) const;

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

   private:
    int descriptor_;
  };

  Study(FileLock lock, Database database, std::string path)
      : lock_(std::move(lock)), database_(std::move(database)), path_(std::move(path)) {}
  [[nodiscard]] static Result<FileLock> lock(const std::string& path);
  [[nodiscard]] Result<void> prepare(const StudyIdentity& identity, bool resume);
  [[nodiscard]] Result<void> check_version(bool& empty) const;
  [[nodiscard]] Result<void> write_identity(const StudyIdentity& identity);
  [[nodiscard]] Result<void> check_identity(const StudyIdentity& identity) const;
  [[nodiscard]] Result<int64_t> count(const std::string& condition) const;

  // Closed after the database: closing any descriptor of a file drops SQLite's own locks on it.
  FileLock lock_;
  Database database_;
  std::string path_;
  int64_t dropped_failures_ = 0;
};

}  // namespace redline::tuner
