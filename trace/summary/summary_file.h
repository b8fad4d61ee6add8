// Summaries of ranks as files: a line of JSON for each trace, in any order (docs/cluster.md). Files
// that are joined, line after line, are the summary of all their ranks.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <variant>

#include "trace/analysis/rank_summary.h"
#include "trace/read/reader.h"

namespace redline::trace {

constexpr std::string_view kSummarySchema = "redline.summary/1";
constexpr std::string_view kSummaryBegin = "{\"schema\":\"redline.summary/";

/// Each ends with a line end.
[[nodiscard]] std::string summary_line(const RankSummary& summary);
/// For a trace that could not be read: that is known of the run, too.
[[nodiscard]] std::string unreadable_line(const ReadError& error);

using SummaryLine = std::variant<RankSummary, ReadError>;
/// The summary's names go into `names`. The error continues a sentence: "is damaged".
[[nodiscard]] tl::expected<SummaryLine, std::string> read_summary_line(
    std::string_view line, const std::shared_ptr<StringTable>& names);

/// Whether the file is named as summaries are, whatever it holds, or begins as one does.
[[nodiscard]] bool is_summary_file(const std::string& path);

/// The files of summaries in a folder, by name.
[[nodiscard]] std::vector<std::string> find_summaries(const std::string& folder);

}  // namespace redline::trace
