#include "viewer/models/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "trace/report/diff_words.h"
#include "trace/report/kernel_name.h"
#include "viewer/models/format.h"

namespace redline::viewer {
namespace {

constexpr size_t kNameColumns = 60;

std::string number_text(double value, Unit unit) {
  switch (unit) {
    case Unit::kDuration:
      return format_duration(std::llround(value));
    case Unit::kTime:
      return format_time_exact(std::llround(value));
    case Unit::kBytes:
      return format_bytes(std::llround(value));
    case Unit::kBytesPerSecond:
      return format_bandwidth(value);
    case Unit::kShare:
      return format_percent(value);
    case Unit::kChange:
      return format_change(std::llround(value));
    case Unit::kChangeShare:
      return (value > 0 ? "+" : "") + format_percent(value);
    case Unit::kRate:
      return format_number(value);
    case Unit::kCount:
    case Unit::kText:
    case Unit::kName:
      break;
  }
  return trace::mean_count_text(value);
}

const char* unit_key(Unit unit) {
  switch (unit) {
    case Unit::kDuration:
    case Unit::kTime:
    case Unit::kChange:
      return "_ns";
    case Unit::kBytes:
      return "_bytes";
    case Unit::kBytesPerSecond:
      return "_bytes_per_s";
    case Unit::kShare:
    case Unit::kChangeShare:
      return "_share";
    case Unit::kText:
    case Unit::kName:
    case Unit::kCount:
    case Unit::kRate:
      break;
  }
  return "";
}

// The JSON key of a column: "Mean" of a duration becomes "mean_ns", "Samples/s" becomes
// "samples_per_s".
std::string key_of(const TableColumn& column) {
  std::string key;
  for (const char c : column.title) {
    if (c == '/') key += "_per";
    const bool letter = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (letter) key += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (!letter && !key.empty() && key.back() != '_') key += '_';
  }
  while (!key.empty() && key.back() == '_') key.pop_back();
  const std::string unit = unit_key(column.unit);
  return "_" + key == unit || key.ends_with(unit) ? key : key + unit;
}

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"') result += '"';
    result += c;
  }
  return result + '"';
}

// A tab or a line's end would end the cell.
std::string in_one_cell(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
  return text;
}

std::string plain(const TableValue& value) {
  switch (value.kind()) {
    case TableValue::Kind::kText:
      return value.text();
    case TableValue::Kind::kWhole:
      return std::to_string(value.whole());
    case TableValue::Kind::kReal:
      return fmt::format("{}", value.number());
    case TableValue::Kind::kNone:
      break;
  }
  return {};
}

nlohmann::ordered_json json_of(const TableValue& value) {
  switch (value.kind()) {
    case TableValue::Kind::kText:
      return printable(value.text());
    case TableValue::Kind::kWhole:
      return value.whole();
    case TableValue::Kind::kReal:
      return value.number();
    case TableValue::Kind::kNone:
      break;
  }
  return nullptr;
}

}  // namespace

std::string whole_text(const TableValue& value, Unit unit) {
  if (value.kind() == TableValue::Kind::kNone) return "-";
  if (value.kind() != TableValue::Kind::kText) return number_text(value.number(), unit);
  return unit == Unit::kName && value.text().empty() ? "(no name)" : printable(value.text());
}

std::string value_text(const TableValue& value, Unit unit) {
  if (unit != Unit::kName || value.text().empty()) return whole_text(value, unit);
  if (!value.label().empty()) return printable(value.label());
  return printable(value.is_kernel() ? trace::short_kernel_name(value.text(), kNameColumns)
                                     : trace::short_operator_name(value.text(), kNameColumns));
}

TableValue name_value(const Session& session, SliceRef ref) {
  std::string name(session.name_of(ref));
  const auto& categories = session.traces()[ref.trace].trace->slices().category;
  return categories[ref.slice.value] == trace::Category::kKernel
             ? TableValue::kernel(std::move(name))
             : TableValue(std::move(name));
}

void tell_kernels_apart(Table& table) {
  for (size_t c = 0; c < table.columns.size(); ++c) {
    std::set<std::string_view> kernels;
    for (const TableRow& row : table.rows) {
      if (row.values[c].is_kernel()) kernels.insert(row.values[c].text());
    }
    const std::vector<std::string_view> names(kernels.begin(), kernels.end());
    const std::vector<std::string> labels = trace::short_kernel_names(names, kNameColumns);
    for (TableRow& row : table.rows) {
      TableValue& value = row.values[c];
      if (!value.is_kernel()) continue;
      const auto at = std::ranges::lower_bound(names, value.text()) - names.begin();
      value.set_label(labels[static_cast<size_t>(at)]);
    }
  }
}

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The digits from `at` on, without zeros in front; moves `at` behind them.
std::string_view digits_at(std::string_view text, size_t& at) {
  while (at < text.size() && text[at] == '0') ++at;
  const size_t begin = at;
  while (at < text.size() && is_digit(text[at])) ++at;
  return text.substr(begin, at - begin);
}

// Text counts as a number if it is nothing else: a knob is shown as it was typed.
std::optional<double> number_of(const TableValue& value) {
  if (value.kind() == TableValue::Kind::kNone) return std::nullopt;
  if (value.kind() != TableValue::Kind::kText) return value.number();
  const std::string& text = value.text();
  const char* const end = text.data() + text.size();
  double number = 0;
  const auto read = std::from_chars(text.data(), end, number);
  const bool is_number = read.ec == std::errc() && read.ptr == end && std::isfinite(number);
  return is_number ? std::optional(number) : std::nullopt;
}

}  // namespace

bool text_less(std::string_view left, std::string_view right) {
  size_t l = 0, r = 0;
  while (l < left.size() && r < right.size()) {
    if (is_digit(left[l]) && is_digit(right[r])) {
      const std::string_view a = digits_at(left, l), b = digits_at(right, r);
      if (a != b) return std::pair(a.size(), a) < std::pair(b.size(), b);
    } else if (left[l] != right[r]) {
      return left.substr(l, 1) < right.substr(r, 1);
    } else {
      ++l;
      ++r;
    }
  }
  const bool is_same = l == left.size() && r == right.size();  // but for zeros
  return is_same ? left < right : l == left.size();
}

bool value_less(const TableValue& left, const TableValue& right) {
  const auto l = number_of(left), r = number_of(right);
  if (l && r && *l != *r) return *l < *r;
  const auto rank = [](const TableValue& value, bool is_number) {
    return value.kind() == TableValue::Kind::kNone ? 0 : is_number ? 1 : 2;
  };
  const int rank_left = rank(left, l.has_value()), rank_right = rank(right, r.has_value());
  return rank_left != rank_right ? rank_left < rank_right : text_less(left.text(), right.text());
}

bool has_values(const Table& table, size_t column) {
  return std::ranges::any_of(table.rows, [column](const TableRow& row) {
    const TableValue& value = row.values[column];
    if (value.kind() == TableValue::Kind::kText) return !value.text().empty();
    return value.kind() != TableValue::Kind::kNone;
  });
}

bool is_all_zero(const Table& table, size_t column) {
  return std::ranges::all_of(table.rows, [column](const TableRow& row) {
    return row.values[column].kind() == TableValue::Kind::kWhole && row.values[column].whole() == 0;
  });
}

void drop_columns(Table& table, const std::function<bool(size_t column)>& is_dropped) {
  for (size_t c = table.columns.size(); c-- > 0;) {
    if (!is_dropped(c)) continue;
    const auto at = static_cast<std::ptrdiff_t>(c);
    table.columns.erase(table.columns.begin() + at);
    for (TableRow& row : table.rows) row.values.erase(row.values.begin() + at);
  }
}

Table rows_with(const Table& table, const std::string& text) {
  Table result{table.title, table.columns, {}};
  for (const TableRow& row : table.rows) {
    for (size_t c = 0; c < row.values.size(); ++c) {
      if (!is_wanted(whole_text(row.values[c], table.columns[c].unit), text)) continue;
      result.rows.push_back(row);
      break;
    }
  }
  return result;
}

namespace {

template <typename CellOf>
std::string separated(const Table& table, const char* separator, const char* line_end,
                      const CellOf& cell_of) {
  std::string lines;
  for (size_t c = 0; c < table.columns.size(); ++c) {
    lines += (c ? separator : "") + cell_of(key_of(table.columns[c]));
  }
  lines += line_end;
  for (const TableRow& row : table.rows) {
    for (size_t c = 0; c < row.values.size(); ++c) {
      lines += (c ? separator : "") + cell_of(plain(row.values[c]));
    }
    lines += line_end;
  }
  return lines;
}

}  // namespace

std::string table_csv(const Table& table) { return separated(table, ",", "\r\n", quoted); }

std::string table_tsv(const Table& table) { return separated(table, "\t", "\n", in_one_cell); }

std::string table_json(const Table& table) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const TableRow& row : table.rows) {
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    for (size_t c = 0; c < row.values.size(); ++c) {
      object[key_of(table.columns[c])] = json_of(row.values[c]);
    }
    rows.push_back(std::move(object));
  }
  const nlohmann::ordered_json all = {
      {"schema", "redline.table/1"}, {"title", table.title}, {"rows", std::move(rows)}};
  return all.dump(2) + "\n";
}

}  // namespace redline::viewer
