#include "trace/read/rank_files.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <utility>

namespace redline::trace {
namespace {

/// The rank and the start that the name "rank3.2.steps.redline" gives.
std::pair<int64_t, int64_t> place_of(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename();
  std::pair<int64_t, int64_t> place{INT64_MAX, 1};
  const char* const end = name.data() + name.size();
  if (!name.starts_with("rank")) return place;
  const auto rank = std::from_chars(name.data() + 4, end, place.first);
  if (rank.ec == std::errc() && rank.ptr != end) std::from_chars(rank.ptr + 1, end, place.second);
  return place;
}

}  // namespace

std::vector<std::string> find_rank_files(const std::string& folder, std::string_view suffix) {
  std::vector<std::string> paths;
  std::error_code error;
  std::filesystem::directory_iterator files(folder, error);
  for (; !error && files != std::filesystem::directory_iterator(); files.increment(error)) {
    std::error_code ignored;
    const bool is_file = files->is_regular_file(ignored);  // a pipe would keep its reader waiting
    if (is_file && files->path().native().ends_with(suffix)) paths.push_back(files->path());
  }
  std::ranges::sort(paths, {},
                    [](const std::string& path) { return std::pair(place_of(path), path); });
  return paths;
}

}  // namespace redline::trace
