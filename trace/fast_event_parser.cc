#include <simdjson.h>

#include <cstring>
#include <vector>

#include "trace/event_parser.h"
#include "trace/json_scan.h"

namespace redline::trace {
namespace {

namespace ondemand = simdjson::ondemand;

std::string_view trim_right(std::string_view token) {
  while (!token.empty() && static_cast<uint8_t>(token.back()) <= ' ') token.remove_suffix(1);
  return token;
}

// The key between its quotes. Keys that matter are short, so longer ones may be cut.
std::string_view key_text(const char* key) {
  size_t length = 0;
  while (length < 8 && key[length] != '"') ++length;
  return {key, length};
}

// Fills `event`; false where the object is not sound.
bool read_event(ondemand::object& object, RawEvent& event) {
  for (simdjson::simdjson_result<ondemand::field> item : object) {
    if (item.error() != simdjson::SUCCESS) return false;
    ondemand::field field = item.value_unsafe();
    std::string_view* target = event_field(event, key_text(field.key().raw()));
    if (target == nullptr) continue;
    if (target != &event.args) {
      *target = trim_right(field.value().raw_json_token());
      continue;
    }
    ondemand::object args;
    if (field.value().get_object().get(args) != simdjson::SUCCESS) continue;
    if (args.raw_json().get(event.args) != simdjson::SUCCESS) return false;
  }
  return true;
}

}  // namespace

struct FastEventParser::Buffers {
  ondemand::parser parser;
  std::vector<char> padded;
};

FastEventParser::FastEventParser() : buffers_(std::make_unique<Buffers>()) {}
FastEventParser::~FastEventParser() = default;

ParseStop FastEventParser::parse(std::string_view text, size_t from, size_t to, EventSink& sink) {
  // The chunk gets brackets of its own, so it is copied; the copy stays in the cache.
  std::vector<char>& padded = buffers_->padded;
  const size_t bytes = to - from;
  padded.resize(bytes + 2 + simdjson::SIMDJSON_PADDING);
  padded[0] = '[';
  std::memcpy(padded.data() + 1, text.data() + from, bytes);
  padded[bytes + 1] = ']';
  std::memset(padded.data() + bytes + 2, ' ', simdjson::SIMDJSON_PADDING);
  const auto position = [&](const char* at) {
    return from + static_cast<size_t>(at - padded.data()) - 1;
  };

  ParseStop stop{from, false, false};
  ondemand::document document;
  ondemand::array events;
  if (buffers_->parser.iterate(padded.data(), bytes + 2, padded.size()).get(document) !=
          simdjson::SUCCESS ||
      document.get_array().get(events) != simdjson::SUCCESS) {
    return stop;
  }
  const char* at = nullptr;
  for (simdjson::simdjson_result<ondemand::value> element : events) {
    if (element.error() != simdjson::SUCCESS) return stop;
    ondemand::value value = element.value_unsafe();
    if (value.current_location().get(at) != simdjson::SUCCESS) return stop;
    RawEvent event;
    event.offset = position(at);
    ondemand::object object;
    if (value.get_object().get(object) != simdjson::SUCCESS || !read_event(object, event) ||
        document.current_location().get(at) != simdjson::SUCCESS) {
      return stop;
    }
    sink.add(event);
    stop.at = position(at);
  }
  stop.sound = true;
  // Something behind the array's end: it ended before the bracket that was put there above.
  stop.array_ended = document.current_location().get(at) == simdjson::SUCCESS;
  stop.at = stop.array_ended ? position(at) : to;
  return stop;
}

}  // namespace redline::trace
