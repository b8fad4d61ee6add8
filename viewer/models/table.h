// A table as values with units: what a view shows, sorts and exports. Every table of the window is
// one of these; sorting and export need the numbers, so they are turned into text only when shown.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "viewer/models/session.h"

namespace redline::viewer {

enum class Unit : uint8_t {
  kText,
  kName,  ///< text: a slice's name, shown short; tooltip, filter and export have it whole
  kCount,
  kDuration,
  kBytes,
  kBytesPerSecond,
  kShare,
  kChange,  ///< of a duration; the sign says in which direction
  kChangeShare,
  kTime,
  kRate
};

struct TableColumn {
  std::string title;
  Unit unit = Unit::kText;
  std::string meaning = {};  ///< for the tooltip, if the title is not enough
};

/// Text, a number, or (as constructed) not applicable.
class TableValue {
 public:
  enum class Kind : uint8_t { kNone, kText, kWhole, kReal };

  TableValue() = default;
  TableValue(std::string text) : kind_(Kind::kText), text_(std::move(text)) {}
  TableValue(int64_t whole) : kind_(Kind::kWhole), whole_(whole) {}
  TableValue(double real) : kind_(Kind::kReal), real_(real) {}
  /// A C++ function: shown without its arguments and namespaces.
  [[nodiscard]] static TableValue kernel(std::string name) {
    TableValue value(std::move(name));
    value.is_kernel_ = true;
    return value;
  }
  TableValue(const std::optional<int64_t>& whole)
      : TableValue(whole ? TableValue(*whole) : TableValue()) {}
  TableValue(const std::optional<double>& real)
      : TableValue(real ? TableValue(*real) : TableValue()) {}

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] bool is_kernel() const { return is_kernel_; }
  /// What of a kernel's name is shown, if not what short_kernel_name() makes of it.
  [[nodiscard]] const std::string& label() const { return label_; }
  void set_label(std::string label) { label_ = std::move(label); }
  [[nodiscard]] int64_t whole() const { return whole_; }
  [[nodiscard]] double number() const {
    return kind_ == Kind::kWhole ? static_cast<double>(whole_) : real_;
  }

 private:
  Kind kind_ = Kind::kNone;
  bool is_kernel_ = false;
  std::string text_;
  std::string label_;
  int64_t whole_ = 0;
  double real_ = 0;
};

struct TableRow {
  std::vector<TableValue> values;  ///< one a column
  SliceRef slice;                  ///< the slice that a click leads to; none: `name` says which
  std::string name;                ///< a slice's name or a trial's number; empty: `time` says where
  std::optional<TimeRef> time = {};  ///< nullopt: a click leads nowhere
};

struct Table {
  std::string title;
  std::vector<TableColumn> columns;
  std::vector<TableRow> rows;
};

/// The value with its unit, as people read it; "-" if not applicable, "(no name)" of a slice
/// without one.
[[nodiscard]] std::string value_text(const TableValue& value, Unit unit);
/// The same with the whole name.
[[nodiscard]] std::string whole_text(const TableValue& value, Unit unit);

[[nodiscard]] TableValue name_value(const Session& session, SliceRef ref);
/// Kernels whose short names are the same show where they differ.
void tell_kernels_apart(Table& table);

/// By letters and by the size of numbers in it: "rank 9" before "rank 10".
[[nodiscard]] bool text_less(std::string_view left, std::string_view right);

/// Numbers by size, also those that stand as text ("0.05" before "0.25"), then other text by
/// text_less(); "not applicable" before all.
[[nodiscard]] bool value_less(const TableValue& left, const TableValue& right);

/// False if every row's value in this column is not applicable or empty. Such a column tells
/// nothing and only takes room.
[[nodiscard]] bool has_values(const Table& table, size_t column);

/// Whether every row has the whole number 0 in this column.
[[nodiscard]] bool is_all_zero(const Table& table, size_t column);
void drop_columns(Table& table, const std::function<bool(size_t column)>& is_dropped);

/// The rows that have `text` in any of their values, or in quotes ("GPU 1") as a whole value.
[[nodiscard]] Table rows_with(const Table& table, const std::string& text);

/// For the clipboard: as CSV, but with tabs, which spreadsheets take as columns.
[[nodiscard]] std::string table_tsv(const Table& table);
/// RFC 4180, with a line of titles; numbers are plain, times in ns.
[[nodiscard]] std::string table_csv(const Table& table);
/// An array of objects under "rows"; keys are titles with their units, as "total_ns".
[[nodiscard]] std::string table_json(const Table& table);

}  // namespace redline::viewer
