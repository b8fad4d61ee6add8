// Ranks of a job that read the same samples, as tensor parallel ranks and stages of a pipeline do,
// together count these samples once.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace redline {

/// The share of its samples that counts, for each rank: 1 / the number of ranks that read the same.
/// `digests`: of what each rank reads; "" counts fully, because nothing is known of it.
[[nodiscard]] inline std::vector<double> sample_shares(const std::vector<std::string>& digests) {
  std::map<std::string_view, int> readers;
  for (const std::string& digest : digests) ++readers[digest];
  std::vector<double> shares;
  for (const std::string& digest : digests) {
    shares.push_back(digest.empty() ? 1.0 : 1.0 / readers[digest]);
  }
  return shares;
}

}  // namespace redline
