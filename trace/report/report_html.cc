#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/format.h"
#include "trace/report/hang_words.h"
#include "trace/report/html.h"
#include "trace/report/report_figures.h"
#include "trace/report/report_html.h"
#include "trace/report/report_words.h"
#include "trace/report/run_report.h"

namespace redline::trace {

// The build makes it from page/page.css and page.js.
const char* page_style();
const char* page_script();

namespace {

// The page loads nothing from anywhere; this tells the browser to refuse it.
constexpr const char* kPolicy =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

std::string subtitle_of(const Report& report) {
  std::string text = counts_text(report);
  if (const auto names = gpu_names(report); !names.empty()) {
    text = fmt::format("{} · {}", fmt::join(names, ", "), text);
  }
  return text;
}

// Who holds the ranks up, and why flight recorders wrote the traces.
std::string reasons_html(const Report& report) {
  const auto card = [](const std::string& content) {
    return content.empty() ? "" : "<section class=card>" + content + "</section>\n";
  };
  const auto line_of = [](const std::string& line) {
    return "<div>" + html::escape(line) + "</div>";
  };
  std::string hang, reasons;
  if (report.hang) {
    for (const std::string& line : hang_lines(*report.hang, report.hang_seen_ns)) {
      hang += !hang.empty() ? line_of(line)
                            : (report.hang->has_failed ? "<h2>Failed: " : "<h2>Hangs: ") +
                                  html::escape(line) + "</h2>";
    }
  }
  for (const std::string& line : nobody_named_lines(report)) hang += line_of(line);
  std::string notes;
  for (const std::string& note : trace_notes(report))
    notes += card(html::escape(capitalized(note)));
  for (const std::string& line : reason_lines(report)) reasons += line_of(line);
  if (!reasons.empty()) reasons = "<h2>Why it was written</h2>" + reasons;
  return card(hang) + notes + card(reasons);
}

std::string traces_html(const Report& report, const TraceOf& trace_of) {
  const PageTimeline timeline = page_timeline(report, trace_of);
  std::string page = "<div class=columns><div>" + steps_html(report) + phases_html(report) +
                     memory_html(report) + "</div>" + findings_html(report, timeline) + "</div>\n";
  page += timeline_html(timeline);
  if (report.run) page += run_html(*report.run);
  page += ranks_html(report) + gpus_html(report) + modules_html(report) + roofline_html(report) +
          paths_html(report) + tables_html(report) + files_html(report);
  return page + "<script type=application/json id=data>" + timeline_json(timeline) +
         "</script>\n<script>" + page_script() + "</script>\n";
}

}  // namespace

TraceOf loaded_traces(const Report& report) {
  return [&report](size_t index) {
    return index < report.analyses.size() ? report.analyses[index].trace : nullptr;
  };
}

std::string report_html(const Report& report, const TraceOf& trace_of) {
  const std::string title = html::escape(title_of(report));
  const std::string subtitle = report.traces.empty() ? "" : html::escape(subtitle_of(report));
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8>"
      "<meta http-equiv=Content-Security-Policy content=\"{}\">"
      "<meta name=viewport content=\"width=device-width,initial-scale=1\">"
      "<title>{} · Redline</title>\n<style>{}</style></head><body><main>\n"
      "<div class=top><h1>{}</h1><span class=dim>{}</span></div>\n",
      kPolicy, title, page_style(), title, subtitle);
  page += reasons_html(report);
  if (!report.traces.empty()) {
    page += traces_html(report, trace_of);
  } else if (report.run) {
    page += run_html(*report.run);
  }
  return page + "</main></body></html>\n";
}

}  // namespace redline::trace
