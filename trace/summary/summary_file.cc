#include "trace/summary/summary_file.h"

#include <filesystem>
#include <fstream>

#include "trace/read/rank_files.h"

namespace redline::trace {

bool is_summary_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  if (path.ends_with(kSummarySuffix)) return true;
  std::string begin(kSummaryBegin.size(), ' ');
  std::ifstream file(path, std::ios::binary);
  return file.read(begin.data(), static_cast<std::streamsize>(begin.size())) &&
         begin == kSummaryBegin;
}

std::vector<std::string> find_summaries(const std::string& folder) {
  return find_rank_files(folder, kSummarySuffix);
}

}  // namespace redline::trace
