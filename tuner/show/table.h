// What people see of a study: the head, one line a trial, and what came of it. 80 columns.
#pragma once

#include <string>

#include "base/terminal.h"
#include "tuner/show/study_texts.h"
#include "tuner/space/space.h"

namespace redline::tuner {

class Table {
 public:
  /// `space` must outlive the table.
  Table(const Space& space, TextStyle style, Objective objective = Objective::kSamplesPerSecond);

  [[nodiscard]] std::string head(const StudyTerms& terms) const;
  [[nodiscard]] std::string column_names() const;
  /// The last trial of `history`.
  [[nodiscard]] std::string line(const History& history) const;
  /// How many trials, and the best with its speed-up and the command that uses it.
  [[nodiscard]] std::string summary(const History& history, const std::optional<Best>& best,
                                    const StudyTerms& terms) const;

 private:
  struct Column {
    std::string knob;
    std::string title;
    size_t width;
  };
  [[nodiscard]] std::string verdict(const History& history) const;
  [[nodiscard]] std::string best_lines(const Best& best, const StudyTerms& terms) const;
  [[nodiscard]] std::string profile_lines(const BestProfile& profile) const;

  const Space& space_;
  TextStyle style_;
  Objective objective_;
  std::vector<Column> columns_;
};

}  // namespace redline::tuner
