#include "base/nearest.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace redline {
namespace {

/// '-', '_' and the case of letters are what people mix up, and nothing to count.
std::string plain(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c != '-' && c != '_') {
      plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return plain;
}

/// How many letters must be put in, left out, changed or swapped with their neighbour.
size_t slips_between(const std::string& left, const std::string& right) {
  std::vector<size_t> before_last, last, row(right.size() + 1);
  for (size_t i = 0; i <= right.size(); ++i) row[i] = i;
  for (size_t i = 1; i <= left.size(); ++i) {
    before_last = std::exchange(last, row);
    row[0] = i;
    for (size_t j = 1; j <= right.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (left[i - 1] != right[j - 1])});
      if (i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_name(std::string_view typed, const std::vector<std::string>& names) {
  const std::string meant = plain(typed);
  std::string nearest;
  size_t fewest = meant.size() / 3 + 1;
  for (const std::string& name : names) {
    const size_t slips = slips_between(meant, plain(name));
    if (slips >= fewest) continue;
    fewest = slips;
    nearest = name;
  }
  return nearest;
}

std::string did_you_mean(std::string_view typed, const std::vector<std::string>& names) {
  const std::string name = nearest_name(typed, names);
  return name.empty() ? "" : "; did you mean " + name + "?";
}

}  // namespace redline
