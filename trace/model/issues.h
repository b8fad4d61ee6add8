// What the reader had to repair or skip, counted by name. Silence would be the bug.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/model/model.h"

namespace redline::trace {

class IssueLog {
 public:
  /// An event or value was used after a repair.
  void repaired(std::string_view name, uint64_t offset, uint64_t count = 1) {
    add(name, offset, count, false);
  }
  /// An event or value was left out.
  void lost(std::string_view name, uint64_t offset, uint64_t count = 1) {
    add(name, offset, count, true);
  }

  void add(const IssueLog& other) {
    for (const LoadIssue& issue : other.issues_) {
      add(issue.name, issue.first_offset, issue.count, issue.lost_data);
    }
  }

  [[nodiscard]] uint64_t count(std::string_view name) const {
    const auto found = std::find_if(issues_.begin(), issues_.end(),
                                    [&](const LoadIssue& issue) { return issue.name == name; });
    return found == issues_.end() ? 0 : found->count;
  }

  [[nodiscard]] std::vector<LoadIssue> take() { return std::move(issues_); }

 private:
  void add(std::string_view name, uint64_t offset, uint64_t count, bool lost_data) {
    const auto found = std::find_if(issues_.begin(), issues_.end(),
                                    [&](const LoadIssue& issue) { return issue.name == name; });
    if (found == issues_.end()) {
      issues_.push_back({std::string(name), count, offset, lost_data});
      return;
    }
    found->count += count;
    found->first_offset = std::min(found->first_offset, offset);
  }

  std::vector<LoadIssue> issues_;
};

}  // namespace redline::trace
