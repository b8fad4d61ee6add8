#include "tuner/space/placeholders.h"

#include <charconv>
#include <nlohmann/json.hpp>

namespace redline::tuner {

std::string fill_placeholders(const std::string& text, const Config& config,
                              std::set<std::string>* used) {
  std::string result;
  size_t position = 0;
  while (position < text.size()) {
    const size_t open = text.find('{', position);
    const size_t close = open == std::string::npos ? open : text.find('}', open);
    if (close == std::string::npos) break;
    const auto knob = config.find(text.substr(open + 1, close - open - 1));
    if (knob == config.end()) {  // not ours: keep the brace, look again right behind it
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

std::set<std::string> placeholders_in(const std::vector<std::string>& words, const Config& config) {
  std::set<std::string> used;
  for (const std::string& word : words) (void)fill_placeholders(word, config, &used);
  return used;
}

std::string knobs_json(const Config& config, const std::set<std::string>& without) {
  nlohmann::json object = nlohmann::json::object();
  for (const auto& [name, value] : config) {
    if (without.contains(name)) continue;
    int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error == std::errc() && end == value.data() + value.size()) {
      object[name] = number;
    } else {
      object[name] = value;
    }
  }
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace redline::tuner
