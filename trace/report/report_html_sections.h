// The sections of the HTML report, each empty where it has nothing to say.
#pragma once

#include <string>

#include "trace/report/page_timeline.h"
#include "trace/report/report.h"

namespace redline::trace {

// report_html_overview.cc
[[nodiscard]] std::string steps_html(const Report& report);
[[nodiscard]] std::string findings_html(const Report& report, const PageTimeline& timeline);
[[nodiscard]] std::string phases_html(const Report& report);
[[nodiscard]] std::string timeline_html(const PageTimeline& timeline);

// report_html_memory.cc
[[nodiscard]] std::string memory_html(const Report& report);

// report_html_path.cc
[[nodiscard]] std::string paths_html(const Report& report);

// report_html_tables.cc
[[nodiscard]] std::string ranks_html(const Report& report);
[[nodiscard]] std::string gpus_html(const Report& report);
[[nodiscard]] std::string tables_html(const Report& report);
[[nodiscard]] std::string files_html(const Report& report);

}  // namespace redline::trace
