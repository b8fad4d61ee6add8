#include "trace/model/args.h"

#include <charconv>

#include "trace/emit/json_scan.h"
#include "trace/read/event_parser.h"

namespace redline::trace {

Args::Args(std::string_view event_text) : object_(scan_event(event_text, 0).event.args) {}

std::string_view Args::raw(std::string_view key) const { return find_value(object_, key); }

std::optional<double> Args::number(std::string_view key) const {
  const std::string_view digits = unquote(raw(key));
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

std::optional<int64_t> Args::integer(std::string_view key) const {
  return parse_scaled(unquote(raw(key)), 0);
}

std::string Args::text(std::string_view key) const { return decode_string(unquote(raw(key))); }

}  // namespace redline::trace
