// What people see of a study: the head, one line a trial, and what came of it. 80 columns.
#pragma once

#include <string>

#include "tuner/options.h"
#include "tuner/space/space.h"
#include "tuner/study/best_config.h"
#include "tuner/trial/words.h"

namespace redline::tuner {

class Table {
 public:
  /// `space` must outlive the table.
  Table(const Space& space, Style style, Objective objective = Objective::kSamplesPerSecond);

  [[nodiscard]] std::string head(const Options& options) const;
  [[nodiscard]] std::string column_names() const;
  /// The last trial of `history`.
  [[nodiscard]] std::string line(const History& history) const;
  /// How many trials, and the best with its speed-up and the command that uses it.
  [[nodiscard]] std::string summary(const History& history, const std::optional<Best>& best,
                                    const Options& options) const;

 private:
  struct Column {
    std::string knob;
    std::string title;
    size_t width;
  };
  [[nodiscard]] std::string verdict(const History& history) const;
  [[nodiscard]] std::string best_lines(const Best& best, const Options& options) const;
  [[nodiscard]] std::string profile_lines(const BestProfile& profile) const;

  const Space& space_;
  Style style_;
  Objective objective_;
  std::vector<Column> columns_;
};

/// Everything known, for `--format json` (schema redline.tune/1).
[[nodiscard]] std::string tune_json(const History& history, const std::optional<Best>& best,
                                    const Options& options, bool stopped);

}  // namespace redline::tuner
