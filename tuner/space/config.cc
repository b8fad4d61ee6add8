#include "tuner/space/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/json_values.h"
#include "base/terminal.h"
#include "tuner/space/knob.h"

namespace redline::tuner {
namespace {

using nlohmann::json;

std::string text_of(const json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "on" : "off";
  return plain_text(value);
}

}  // namespace

std::optional<int64_t> number_of(const Config& config, const std::string& knob) {
  const auto found = config.find(knob);
  return found == config.end() ? std::nullopt : parse_integer(found->second);
}

std::string value_of(const Config& config, const std::string& knob) {
  const auto found = config.find(knob);
  return found == config.end() ? "" : found->second;
}

double batch_of(const Config& effective) {
  return std::max(1.0, static_cast<double>(number_of(effective, "batch_size").value_or(1)));
}

std::string config_text(const Config& config, const std::string& separator) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : config) parts.push_back(name + " " + value);
  return joined(parts, separator);
}

std::string fill_placeholders(const std::string& text, const Config& config,
                              std::set<std::string>* used) {
  std::string result;
  size_t position = 0;
  while (position < text.size()) {
    const size_t open = text.find('{', position);
    const size_t close = open == std::string::npos ? open : text.find('}', open);
    if (close == std::string::npos) break;
    const auto knob = config.find(text.substr(open + 1, close - open - 1));
    if (knob == config.end()) {  // no knob: keep the brace and search on right behind it
      result += text.substr(position, open + 1 - position);
      position = open + 1;
      continue;
    }
    result += text.substr(position, open - position) + knob->second;
    position = close + 1;
    if (used != nullptr) used->insert(knob->first);
  }
  return result + text.substr(position);
}

nlohmann::ordered_json config_json(const Config& config, const std::set<std::string>& without) {
  auto object = nlohmann::ordered_json::object();
  for (const auto& [name, value] : config) {
    if (without.contains(name)) continue;
    if (const auto number = plain_number(value)) {
      object[name] = *number;
    } else {
      object[name] = value;
    }
  }
  return object;
}

std::string knobs_json(const Config& config, const std::set<std::string>& without) {
  return json_text(config_json(config, without));
}

tl::expected<TunedConfig, std::string> parse_config(const std::string& json_text) {
  const json file = json::parse(json_text, nullptr, false);
  if (file.is_discarded()) return tl::unexpected(std::string("it is not JSON"));
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
  TunedConfig config;
  for (const auto& [name, value] : knobs->items()) {
    if (value.is_structured() || value.is_null()) {
      return tl::unexpected(fmt::format("knob {} is neither a number nor a word", name));
    }
    config.knobs[name] = text_of(value);
  }
  if (const auto command = file.find("command"); command != file.end() && command->is_array()) {
    for (const json& word : *command) config.command.push_back(text_of(word));
  }
  return config;
}

tl::expected<TunedConfig, std::string> read_config(const std::string& path) {
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

}  // namespace redline::tuner
