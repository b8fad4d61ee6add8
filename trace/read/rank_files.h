// Each rank of a job writes files of its own into one folder: "rank3.steps.redline",
// "rank3.1700000000000000000.4711.hang.redline".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace redline::trace {

/// Of files of summaries (trace/summary/summary_file.h).
constexpr std::string_view kSummarySuffix = ".summary.jsonl";

/// The paths of the files in `folder` whose names end with `suffix`, by rank. A later start of the
/// same rank ("rank3.2.steps.redline") comes later. Empty if the folder cannot be read.
[[nodiscard]] std::vector<std::string> find_rank_files(const std::string& folder,
                                                       std::string_view suffix);

}  // namespace redline::trace
