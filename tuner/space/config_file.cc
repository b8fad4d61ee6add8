#include "tuner/space/config_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tuner/space/knob.h"

namespace redline::tuner {

namespace {

using nlohmann::json;

std::string text_of(const json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "on" : "off";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

tl::expected<Config, std::string> parse_config(const std::string& json_text) {
  const json file = json::parse(json_text, nullptr, false);
  if (file.is_discarded()) return tl::unexpected(std::string("it is no JSON"));
  if (!file.is_object() || !file.contains("schema")) {
    return tl::unexpected(fmt::format("it has no \"schema\": \"{}\"", kConfigSchema));
  }
  const std::string schema = text_of(file["schema"]);
  if (schema != kConfigSchema) {
    return tl::unexpected(fmt::format("its schema is {}, not {}", schema, kConfigSchema));
  }
  const auto knobs = file.find("knobs");
  if (knobs == file.end() || !knobs->is_object()) {
    return tl::unexpected(std::string("it has no \"knobs\" object"));
  }
  Config config;
  for (const auto& [name, value] : knobs->items()) {
    if (value.is_structured() || value.is_null()) {
      return tl::unexpected(fmt::format("knob {} is neither a number nor a word", name));
    }
    config[name] = text_of(value);
  }
  return config;
}

tl::expected<Config, std::string> read_config(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  if (!file || !(text << file.rdbuf())) {
    return tl::unexpected(
        fmt::format("{}: {}", path, errno ? std::strerror(errno) : "it is empty"));
  }
  return parse_config(text.str()).map_error([&](const std::string& error) {
    return path + ": " + error;
  });
}

tl::expected<void, std::string> check_hook_knob(const std::string& name, const std::string& value) {
  const HookKnob* knob = find_hook_knob(name);
  if (knob == nullptr) {
    return tl::unexpected(fmt::format(
        "knob {} has no {{{}}} in the command and cannot be set from outside", name, name));
  }
  if (knob->values.empty()) {
    const auto number = parse_integer(value);
    if (number && *number >= knob->least) return {};
    return tl::unexpected(
        fmt::format("{} = {} is not a whole number of at least {}", name, value, knob->least));
  }
  if (std::find(knob->values.begin(), knob->values.end(), value) != knob->values.end()) return {};
  return tl::unexpected(
      fmt::format("{} = {} is not one of {}", name, value, fmt::join(knob->values, ", ")));
}

}  // namespace redline::tuner
