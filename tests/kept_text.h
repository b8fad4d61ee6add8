// Text that a file of the sources keeps: a change that nobody meant shows in it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "base/file.h"
#include "tests/paths.h"

namespace redline::testing {

/// The first lines of `text` that `other` lacks.
inline std::string lines_beyond(const std::string& other, const std::string& text) {
  std::multiset<std::string> known;
  std::istringstream old_lines(other), lines(text);
  for (std::string line; std::getline(old_lines, line);) known.insert(line);
  std::string found;
  int count = 0;
  for (std::string line; count < 10 && std::getline(lines, line);) {
    if (const auto at = known.find(line); at != known.end()) {
      known.erase(at);
    } else {
      found += "  " + line + "\n";
      ++count;
    }
  }
  return found;
}

/// Compares `text` with a file of the sources, or with its part below "# CHAPTER". If they differ,
/// the build folder gets the file as it would be now, to be looked at and copied.
inline void expect_kept_text(const std::string& text, const std::string& path,
                             const std::string& chapter = "") {
  const std::filesystem::path kept = source_dir() + "/" + path;
  std::string all = read_file(kept);
  const std::string head = chapter.empty() ? "" : "# " + chapter + "\n", now = head + text;
  const size_t begin = std::min(all.find(head), all.size());
  const size_t next = chapter.empty() ? std::string::npos : all.find("\n# ", begin);
  const size_t size = next == std::string::npos ? all.size() - begin : next + 1 - begin;
  const std::string before = all.substr(begin, size);
  if (now == before) return;
  const auto made = std::filesystem::path(programs_dir()).parent_path() /
                    ((chapter.empty() ? "" : chapter + ".") + kept.filename().string());
  std::ofstream(made) << all.replace(begin, size, now);
  ADD_FAILURE() << "lines that " << path << " lacks:\n"
                << lines_beyond(before, now) << "lines that it has instead:\n"
                << lines_beyond(now, before) << "If all is as it should be: cp " << made << " "
                << kept;
}

}  // namespace redline::testing
