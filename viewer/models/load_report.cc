#include "viewer/models/load.h"

#include <fmt/format.h>

#include "viewer/models/format.h"

namespace redline::viewer {

std::string load_report(const Session& session) {
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
      text += fmt::format("  {} {} × {}, the first at byte {}\n    {}\n    {}\n",
                          info.lost_data ? "skipped" : "repaired", format_count(issue.count),
                          info.name, format_count(issue.first_offset), info.sentence, info.advice);
    }
  }
  return text;
}

}  // namespace redline::viewer
