#include "trace/report/html.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "base/printable.h"

namespace redline::trace::html {
namespace {

constexpr size_t kManyRows = 8;
constexpr size_t kMostRows = 500;  // of a table; the others are in --format json
constexpr const char* kNoNumber = "<td class=number>–</td>";

std::string_view entity_of(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

}  // namespace

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    const std::string_view entity = entity_of(c);
    if (entity.empty()) {
      out += c;
    } else {
      out += entity;
    }
  }
  return out;
}

std::string number_cell(double value, std::string_view shown) {
  return fmt::format("<td class=number data-v=\"{}\">{}</td>", value, escape(shown));
}

std::string time_cell(std::optional<int64_t> ns) {
  if (!ns) return kNoNumber;
  return number_cell(static_cast<double>(*ns), *ns == 0 ? "–" : format_ns(*ns));
}

std::string count_cell(int64_t count) {
  return number_cell(static_cast<double>(count), format_count(count));
}

std::string bytes_cell(std::optional<int64_t> bytes) {
  return bytes ? number_cell(static_cast<double>(*bytes), format_bytes(*bytes)) : kNoNumber;
}

std::string share_cell(std::optional<double> share) {
  return share ? number_cell(*share, format_percent(*share)) : kNoNumber;
}

std::string rate_cell(std::optional<double> bytes_per_second) {
  return bytes_per_second ? number_cell(*bytes_per_second, format_bandwidth(*bytes_per_second))
                          : kNoNumber;
}

std::string text_cell(std::string_view text) { return fmt::format("<td>{}</td>", escape(text)); }

std::string name_cell(std::string_view name, std::string_view shown) {
  return fmt::format("<td class=name title=\"{}\">{}</td>", escape(name), escape(shown));
}

std::string bar_cell(double share, std::string_view colour) {
  return fmt::format(
      "<td class=drawn style=\"width:16%\" aria-hidden=true><span class=bar "
      "style=\"width:{:.2f}%;background:var(--{})\"></span></td>",
      100 * std::clamp(share, 0.0, 1.0), colour);
}

std::string table(const std::string& title, const std::string& note,
                  const std::vector<Column>& columns, const std::vector<std::string>& rows,
                  size_t keep) {
  if (rows.empty()) return {};
  const std::string filter =
      rows.size() > kManyRows
          ? fmt::format("<input type=search placeholder=Filter aria-label=\"Filter {}\">",
                        escape(title))
          : "";
  std::string out = fmt::format(
      "<section class=\"card table\"><div class=head><h2>{} <span class=dim>{}</span></h2>{}</div>"
      "<div class=scroll><table data-keep={}><thead><tr>",
      escape(title), escape(note), filter, keep);
  for (const Column& column : columns) {
    const char* kind = column.is_number ? " class=number" : column.is_drawn ? " class=drawn" : "";
    out += fmt::format("<th{}>{}</th>", kind, escape(column.title));
  }
  out += "</tr></thead><tbody>\n";
  for (size_t i = 0; i < std::min(rows.size(), kMostRows); ++i) out += "<tr>" + rows[i] + "</tr>\n";
  out += "</tbody></table></div>";
  if (rows.size() > keep) out += "<p class=more><button></button></p>";
  if (rows.size() > kMostRows) {
    out += fmt::format("<p class=dim>{} more in --format json</p>", rows.size() - kMostRows);
  }
  return out + "</section>\n";
}

}  // namespace redline::trace::html
