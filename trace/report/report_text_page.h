// What the sections of the text report share: the report, how much of it to show, and tables of
// 80 columns. A new section is one function in a file of its own, named in report_text.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/terminal.h"
#include "trace/report/report.h"

namespace redline::trace {

struct TextPage {
  const Report& report;
  const TextScope& scope;
  TextCanvas canvas;

  /// How many of a table's rows to show.
  [[nodiscard]] size_t shown(size_t rows) const { return rows < scope.top ? rows : scope.top; }

  /// Writes "KERNELS (top 5 of 94)" in `width` columns, without ending the line.
  void write_title(const std::string& title, size_t rows, size_t width);
  /// The same where nobody knows of how many: " (top 5)".
  void write_title(const std::string& title, const std::string& count, size_t width);
  /// Writes the title above the four columns of write_row().
  void write_table_head(const std::string& title, size_t rows, const char* last);
  /// `name` is cut to kNameColumns by the caller or here.
  void write_row(std::string_view name, int64_t count, int64_t total_ns, std::string_view last);
};

constexpr size_t kNameColumns = 38;

/// "14.9 %"; empty if `whole_ns` is 0.
[[nodiscard]] std::string share_text(int64_t part_ns, int64_t whole_ns);

/// "-" if it is not known.
[[nodiscard]] std::string time_text(std::optional<int64_t> ns);

/// " of 2 ranks" if there are several, else empty.
[[nodiscard]] std::string of_ranks(const Report& report);

[[nodiscard]] std::string file_name(const std::string& path);

// Each writes its section and a blank line, or nothing if it has nothing to say.
void write_header(TextPage& page);         // report_text_overview.cc
void write_hang(TextPage& page);           // report_text_overview.cc, a part of the header
void write_steps(TextPage& page);          // report_text_overview.cc
void write_findings(TextPage& page);       // report_text_advice.cc
void write_ranks(TextPage& page);          // report_text_ranks.cc
void write_gpus(TextPage& page);           // report_text_gpus.cc
void write_phases(TextPage& page);         // report_text_launches.cc
void write_launches(TextPage& page);       // report_text_launches.cc
void write_critical_path(TextPage& page);  // report_text_path.cc
void write_sequences(TextPage& page);      // report_text_path.cc
void write_kernels(TextPage& page);        // report_text_tables.cc
void write_operators(TextPage& page);      // report_text_tables.cc
void write_collectives(TextPage& page);    // report_text_tables.cc
void write_copies(TextPage& page);         // report_text_tables.cc
void write_memory(TextPage& page);         // report_text_gpus.cc
void write_roofline(TextPage& page);       // report_text_roofline.cc
void write_modules(TextPage& page);        // report_text_modules.cc

}  // namespace redline::trace
