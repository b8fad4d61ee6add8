// Values of JSON reports that may be unknown: null then, never zero and never "".
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace redline {

template <typename Value>
[[nodiscard]] nlohmann::ordered_json or_null(const std::optional<Value>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

[[nodiscard]] inline nlohmann::ordered_json text_or_null(std::string_view text) {
  return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
}

}  // namespace redline
