#include "viewer/models/load.h"

#include <fmt/format.h>

#include "viewer/models/format.h"

namespace redline::viewer {

std::string load_report(const Session& session, const std::vector<trace::ReadError>& unreadable) {
  std::string text;
  for (const SessionTrace& item : session.traces()) {
    const trace::Trace& trace = *item.trace;
    text += fmt::format("{}{}\n", text.empty() ? "" : "\n", printable(trace.path()));
    text += fmt::format("  {} events, {} slices, {} tracks, {} counters\n",
                        format_count(trace.event_count()), format_count(trace.slice_count()),
                        format_count(trace.tracks().size()), format_count(trace.counters().size()));
    if (trace.issues().empty()) text += "  nothing skipped, nothing repaired\n";
    for (const trace::LoadIssue& issue : trace.issues()) {
      const trace::IssueInfo& info = issue.info();
      text += fmt::format("  {}: {}\n    {}, the first at byte {}. {}\n",
                          info.lost_data ? "skipped" : "repaired", info.sentence,
                          format_plural(issue.count, "time"), format_count(issue.first_offset),
                          info.advice);
    }
  }
  for (const trace::ReadError& error : unreadable) {
    text += fmt::format("{}left out: {}\n", text.empty() ? "" : "\n", printable(error.message));
  }
  return text;
}

}  // namespace redline::viewer
