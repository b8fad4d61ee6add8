#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "base/format.h"
#include "trace/report/report_text_page.h"
#include "trace/report/run_report.h"

namespace redline::trace {
namespace {

// The advice stands right below where a step goes, because readers look there first.
constexpr std::array kSections = {
    write_header,  write_steps,         write_findings,  write_ranks,
    write_phases,  write_critical_path, write_gpus,      write_modules,
    write_kernels, write_roofline,      write_operators, write_collectives,
    write_copies,  write_memory,        write_launches,  write_sequences};

}  // namespace

std::string share_text(int64_t part_ns, int64_t whole_ns) {
  return whole_ns == 0 ? "" : format_percent(share_of(part_ns, whole_ns));
}

std::string time_text(std::optional<int64_t> ns) { return ns ? format_ns(*ns) : "-"; }

std::string of_ranks(const Report& report) {
  if (report.traces.size() == 1) return "";
  return " of " + (report.rank_count > 1 ? format_plural(report.rank_count, "rank")
                                         : format_plural(report.traces.size(), "recording"));
}

std::string file_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

void TextPage::write_title(const std::string& title, size_t rows, size_t width) {
  write_title(title,
              rows <= scope.top ? fmt::format(" ({})", rows)
                                : fmt::format(" (top {} of {})", shown(rows), rows),
              width);
}

void TextPage::write_title(const std::string& title, const std::string& count, size_t width) {
  canvas.left(title, 0, Hue::kBold);
  const size_t taken = columns(title);
  if (taken + columns(count) <= width) {
    canvas.left(count, width - taken, Hue::kDim);
  } else {  // the heads of the columns stand on a line of their own
    canvas.dim_line(count).left("", width);
  }
}

void TextPage::write_table_head(const std::string& title, size_t rows, const char* last) {
  write_title(title, rows, 41);
  canvas.right("calls", 8, Hue::kDim)
      .right("total", 10, Hue::kDim)
      .right("mean", 10, Hue::kDim)
      .right(last, 11, Hue::kDim)
      .end_line();
}

void TextPage::write_row(std::string_view name, int64_t count, int64_t total_ns,
                         std::string_view last) {
  canvas.left("  ")
      .left(name, kNameColumns)
      .left(" ")
      .right(format_count(count), 8)
      .right(format_ns(total_ns), 10)
      .right(format_ns(count == 0 ? 0 : total_ns / count), 10)
      .right(last, 11)
      .end_line();
}

std::string report_text(const Report& report, const TextStyle& style, const TextScope& scope) {
  TextPage page{report, scope, TextCanvas(style)};
  if (report.traces.empty()) {
    write_hang(page);
  } else {
    for (const auto write_section : kSections) write_section(page);
  }
  std::string text = page.canvas.take();
  if (report.run) {
    text += report.traces.empty() ? run_text(*report.run, style, scope)
                                  : run_summary(*report.run, style) + "\n";
  }
  TextCanvas more(style);
  const char* lead = "more: ";
  const auto say = [&](const char* command) {
    more.left(lead, 0, Hue::kDim).dim_line(command);
    lead = "      ";
  };
  if (scope.top != TextScope::kAll) say("redline report --all PATH  (or --top N)");
  say("redline report --format html -o report.html PATH");
  if (!report.traces.empty()) say("redline view PATH");
  return text + more.take();
}

}  // namespace redline::trace
