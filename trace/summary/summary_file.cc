#include "trace/summary/summary_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace redline::trace {

bool is_summary_file(const std::string& path) {
  constexpr std::string_view kBegin = "{\"schema\":\"redline.summary/";
  std::string begin(kBegin.size(), ' ');
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  std::ifstream file(path, std::ios::binary);
  return file.read(begin.data(), static_cast<std::streamsize>(begin.size())) && begin == kBegin;
}

std::vector<std::string> find_summaries(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  std::filesystem::directory_iterator entries(folder, error);
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    std::error_code ignored;
    if (entries->is_regular_file(ignored) && entries->path().native().ends_with(kSummarySuffix)) {
      files.push_back(entries->path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace redline::trace
