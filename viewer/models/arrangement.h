// What a user has done with the tracks: folded, hidden, pinned, moved. By keys that stay the same
// when tracks join, and from one run of the viewer to the next.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace redline::viewer {

struct Arrangement {
  std::set<std::string> folded;
  std::set<std::string> hidden;
  std::vector<std::string> pinned;  ///< in the order of pinning
  std::vector<std::string> order;   ///< of all groups and tracks; empty: as they come

  bool operator==(const Arrangement&) const = default;
};

}  // namespace redline::viewer
