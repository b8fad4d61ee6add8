#include "trace/write/json_repair.h"

#include <simdjson.h>

#include <algorithm>

#include "trace/emit/json_scan.h"
#include "trace/emit/text_buffer.h"

namespace redline::trace {
namespace {

std::string with_replacements(std::string_view text) {
  std::string whole;
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    whole += length > 0 ? text.substr(0, length) : kReplacementCharacter;
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return whole;
}

}  // namespace

// Whether a text is valid JSON by itself.
class JsonRepair::Check {
 public:
  bool is_sound(std::string_view text) {
    padded_.assign(text);
    padded_.resize(text.size() + simdjson::SIMDJSON_PADDING, ' ');
    simdjson::dom::element ignored;
    return parser_.parse(padded_.data(), text.size(), false).get(ignored) == simdjson::SUCCESS;
  }

 private:
  simdjson::dom::parser parser_;
  std::string padded_;
};

JsonRepair::JsonRepair() : check_(std::make_unique<Check>()) {}
JsonRepair::~JsonRepair() = default;

std::string_view JsonRepair::sound(std::string_view json) {
  if (check_->is_sound(json)) return json;
  repaired_ = with_replacements(json);
  if (!check_->is_sound(repaired_)) repaired_ = members(repaired_);
  return repaired_;
}

std::string JsonRepair::members(std::string_view object) {
  TextBuffer text;
  for_each_member(object, [&](std::string_view key, std::string_view value) {
    if (text.size() > 0) text.literal(", ");
    text.quoted(decode_string(key));
    text.literal(": ");
    if (check_->is_sound(value)) {
      text.text(value);
    } else {
      text.quoted(decode_string(unquote(value)));
    }
    return true;
  });
  return "{" + std::string(text.view()) + "}";
}

}  // namespace redline::trace
