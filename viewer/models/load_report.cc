#include "viewer/models/load.h"

#include <fmt/format.h>

#include <span>

#include "viewer/models/format.h"

namespace redline::viewer {

namespace {

void add_issues(std::string& text, std::span<const trace::LoadIssue> issues) {
  if (issues.empty()) text += "  nothing skipped, nothing repaired\n";
  for (const trace::LoadIssue& issue : issues) {
    const trace::IssueInfo& info = issue.info();
    text += fmt::format("  {}: {}\n    {}, the first at byte {}. {}\n",
                        info.lost_data ? "skipped" : "repaired", info.sentence,
                        format_plural(issue.count, "time"), format_count(issue.first_offset),
                        info.advice);
  }
}

}  // namespace

std::string load_report(const Session& session, const std::vector<trace::ReadError>& unreadable) {
  std::string text;
  for (const SessionTrace& item : session.traces()) {
    const trace::Trace& trace = *item.trace;
    text += fmt::format("{}{}\n", text.empty() ? "" : "\n", printable(trace.path()));
    if (!item.is_loaded && !item.outline) {
      text += "  not read yet\n";
    } else if (!item.is_loaded) {
      text += fmt::format("  {}, {}, not in memory\n", format_plural(item.outline->events, "event"),
                          format_plural(item.outline->slices, "slice"));
      add_issues(text, item.outline->issues);
    } else {
      text += fmt::format("  {}, {}, {}, {}\n", format_plural(trace.event_count(), "event"),
                          format_plural(trace.slice_count(), "slice"),
                          format_plural(trace.tracks().size(), "track"),
                          format_plural(trace.counters().size(), "counter"));
      add_issues(text, trace.issues());
    }
  }
  for (const trace::ReadError& error : unreadable) {
    text += fmt::format("{}left out: {}\n", text.empty() ? "" : "\n", printable(error.message));
  }
  return text;
}

}  // namespace redline::viewer
