// With this, JSON has null for a std::optional that is empty, in both directions.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

NLOHMANN_JSON_NAMESPACE_BEGIN
template <typename Value>
struct adl_serializer<std::optional<Value>> {
  static void to_json(json& object, const std::optional<Value>& value) {
    object = value ? json(*value) : json();
  }
  static void from_json(const json& object, std::optional<Value>& value) {
    if (object.is_null()) {
      value.reset();
    } else {
      value = object.get<Value>();
    }
  }
};
NLOHMANN_JSON_NAMESPACE_END
