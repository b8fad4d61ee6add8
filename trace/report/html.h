// Makes pieces of HTML from text that may hold anything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redline::trace::html {

/// Makes `text` fit for element content and for quoted attributes. Control characters and bytes
/// that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string escape(std::string_view text);

/// A table cell that sorts by `value`, which the reader sees as `shown`.
[[nodiscard]] std::string number_cell(double value, std::string_view shown);
[[nodiscard]] std::string time_cell(std::optional<int64_t> ns);
[[nodiscard]] std::string count_cell(int64_t count);
[[nodiscard]] std::string bytes_cell(std::optional<int64_t> bytes);
[[nodiscard]] std::string share_cell(std::optional<double> share);
[[nodiscard]] std::string rate_cell(std::optional<double> bytes_per_second);
[[nodiscard]] std::string text_cell(std::string_view text);
/// Letters of a kernel's name that a cell shows.
constexpr size_t kNameLetters = 70;
/// A cell that shows `shown` for `name`; a click and a hint show the whole name.
[[nodiscard]] std::string name_cell(std::string_view name, std::string_view shown);
/// A bar whose length is `share` of the widest row's.
[[nodiscard]] std::string bar_cell(double share, std::string_view colour);

struct Column {
  std::string title;
  bool is_number = true;
  bool is_drawn = false;  ///< bars, left out where the window is narrow
};

/// A card with a title, a filter if there are many rows, and a table that shows its first `keep`
/// rows at first. `rows` are cells. Empty if there are no rows.
[[nodiscard]] std::string table(const std::string& title, const std::string& note,
                                const std::vector<Column>& columns,
                                const std::vector<std::string>& rows, size_t keep = 12);

}  // namespace redline::trace::html
