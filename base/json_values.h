// JSON that comes from outside or goes there: values that may be unknown are null, never zero and
// never "", what is read need not be there, and names need not be UTF-8.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

// With this, JSON has null for a std::optional that is empty, in both directions.
NLOHMANN_JSON_NAMESPACE_BEGIN
template <typename Value>
struct adl_serializer<std::optional<Value>> {
  template <typename Json>
  static void to_json(Json& json, const std::optional<Value>& value) {
    json = value ? Json(*value) : Json();
  }
  template <typename Json>
  static void from_json(const Json& json, std::optional<Value>& value) {
    if (json.is_null()) {
      value.reset();
    } else {
      value = json.template get<Value>();
    }
  }
};
NLOHMANN_JSON_NAMESPACE_END

namespace redline {

[[nodiscard]] inline nlohmann::ordered_json text_or_null(std::string_view text) {
  return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
}

/// What `to_json` makes of each row.
template <typename Rows, typename ToJson>
[[nodiscard]] nlohmann::ordered_json list_json(const Rows& rows, ToJson to_json) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& row : rows) list.push_back(std::invoke(to_json, row));
  return list;
}

/// The JSON as text, in one line without `indent`. What is no UTF-8 becomes the replacement
/// character; dump() alone throws.
template <typename Json>
[[nodiscard]] std::string json_text(const Json& value, int indent = -1) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

/// A text as it is, anything else as JSON: 64, null.
template <typename Json>
[[nodiscard]] std::string plain_text(const Json& value) {
  return value.is_string() ? value.template get<std::string>() : json_text(value);
}

/// The text behind a key; "" if there is none, or no object.
template <typename Json>
[[nodiscard]] std::string text_in(const Json& object, const char* key) {
  const auto value = object.find(key);
  return value != object.end() && value->is_string() ? value->template get<std::string>() : "";
}

/// The whole number behind a key; 0 if there is none, or no object.
template <typename Json>
[[nodiscard]] int64_t whole_in(const Json& object, const char* key) {
  const auto value = object.find(key);
  return value != object.end() && value->is_number_integer() ? value->template get<int64_t>() : 0;
}

/// Whether there is a true behind a key.
template <typename Json>
[[nodiscard]] bool flag_in(const Json& object, const char* key) {
  const auto value = object.find(key);
  return value != object.end() && *value == true;
}

}  // namespace redline
