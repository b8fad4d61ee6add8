// What people see while a study runs: the head, one line for each trial, the result, and on a
// terminal a line about the trials that run now. It has 80 columns, so that it can be pasted
// anywhere; only long values of knobs and the reason why a trial ended are whole, and thus longer,
// where it is no terminal that shows it.
#pragma once

#include <chrono>
#include <cstdio>
#include <map>
#include <string>

#include "base/terminal.h"
#include "tuner/show/study_texts.h"
#include "tuner/space/space.h"
#include "tuner/trial/trial.h"

namespace redline::tuner {

/// Writes and flushes. What cannot be written (a closed terminal, a full disk) is left to
/// std::ferror(): fmt::print() would throw, and a search must come to its end without readers, too.
void put(std::FILE* stream, const std::string& text);

class Table {
 public:
  /// `space` must outlive the table; its knobs may change while trials run.
  /// Lines that are `whole` cut nothing and end where their last column ends, for a file or a pipe;
  /// else at 80 columns, for a terminal.
  Table(const Space& space, TextStyle style, Objective objective = Objective::kSamplesPerSecond,
        bool whole = false);

  [[nodiscard]] const Space& space() const { return space_; }
  [[nodiscard]] std::string head(const StudyTerms& terms) const;
  [[nodiscard]] std::string column_names() const;
  /// The line of the last trial in `history`.
  [[nodiscard]] std::string line(const History& history) const;
  /// How many trials ran, and the best configuration with its speed-up and the command that uses
  /// it.
  [[nodiscard]] std::string summary(const History& history, const std::optional<Best>& best,
                                    const StudyTerms& terms) const;

 private:
  struct Column {
    std::string knob;
    std::string title;
    std::string beginning;  // of all values; cells leave it out
    size_t width;

    [[nodiscard]] std::string cell(const std::string& value) const;
  };
  [[nodiscard]] Column column_of(const Knob& knob) const;
  /// As many of the knobs as there is room for, those named first; best.json and the study have
  /// them all.
  [[nodiscard]] std::vector<Column> shown_columns() const;
  [[nodiscard]] std::string verdict(const History& history) const;
  [[nodiscard]] std::string best_lines(const Best& best, const StudyTerms& terms) const;
  [[nodiscard]] std::string profile_lines(const BestProfile& profile) const;

  const Space& space_;
  TextStyle style_;
  Objective objective_;
  bool whole_;
};

/// One line under the table that says what the running trials do; shown on a terminal only.
class LiveLine {
 public:
  /// Writes to stderr if that is a terminal, else nothing. `unit` is that of rates: "samples/s".
  explicit LiveLine(const char* unit);

  void start(int64_t id, const std::string& what, std::chrono::nanoseconds time_left);
  void show(int64_t id, const TrialProgress& progress);
  void finish(int64_t id) { running_.erase(id); }
  void clear();

 private:
  struct Running {
    std::string what;
    std::chrono::steady_clock::time_point began;
    TrialProgress progress;
  };
  [[nodiscard]] std::string text() const;

  const char* unit_;
  bool on_;
  TextStyle style_;
  std::map<int64_t, Running> running_;  // by trial
  std::chrono::steady_clock::time_point ends_;
};

}  // namespace redline::tuner
