#include "bench/limits.h"

#include <simdjson.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

namespace redline::bench {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr size_t kChunk = 1 << 20;
constexpr std::string_view kTouched[] = {"ph", "ts", "pid", "tid", "cat", "dur", "name", "id"};

bool is_touched(const char* key) {
  for (const std::string_view name : kTouched) {
    if (std::memcmp(key, name.data(), name.size()) == 0 && key[name.size()] == '"') return true;
  }
  return false;
}

/// The text between the brackets of "traceEvents".
std::string_view events_of(std::string_view text) {
  const size_t key = text.find("\"traceEvents\"");
  const size_t open = text.find('[', key == std::string_view::npos ? 0 : key);
  const size_t close = text.rfind(']');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return {};
  return text.substr(open + 1, close - open - 1);
}

size_t skip_space(std::string_view text, size_t at) {
  while (at < text.size() && static_cast<uint8_t>(text[at]) <= ' ') ++at;
  return at;
}

/// Whether the '}' at `at` ends an event: if so, a comma follows, and '{' with a key of an event.
bool ends_event(std::string_view events, size_t at) {
  at = skip_space(events, at + 1);
  if (at >= events.size() || events[at] != ',') return false;
  at = skip_space(events, at + 1);
  if (at >= events.size() || events[at] != '{') return false;
  at = skip_space(events, at + 1);
  return at + 8 < events.size() && events[at] == '"' && is_touched(&events[at + 1]);
}

/// The place behind the '}' of the first event that ends at `at` or later.
size_t cut_from(std::string_view events, size_t at) {
  if (at == 0) return 0;
  for (; (at = events.find('}', at)) != std::string_view::npos; ++at) {
    if (ends_event(events, at)) return at + 1;
  }
  return events.size();
}

class Worker {
 public:
  [[nodiscard]] int64_t events() const { return events_; }
  [[nodiscard]] uint64_t touched() const { return touched_; }

  bool parse(std::string_view chunk) {
    chunk.remove_prefix(skip_space(chunk, 0));
    if (chunk.starts_with(',')) chunk.remove_prefix(1);
    // Copies the chunk, because it needs brackets, and padding for simdjson.
    padded_.resize(chunk.size() + 2 + simdjson::SIMDJSON_PADDING);
    padded_[0] = '[';
    std::memcpy(padded_.data() + 1, chunk.data(), chunk.size());
    padded_[chunk.size() + 1] = ']';
    ondemand::document document;
    ondemand::array events;
    if (parser_.iterate(padded_.data(), chunk.size() + 2, padded_.size()).get(document) !=
            simdjson::SUCCESS ||
        document.get_array().get(events) != simdjson::SUCCESS) {
      return false;
    }
    for (simdjson::simdjson_result<ondemand::value> element : events) {
      ondemand::object event;
      if (element.get_object().get(event) != simdjson::SUCCESS || !touch(event)) return false;
      ++events_;
    }
    return true;
  }

 private:
  bool touch(ondemand::object& event) {
    for (simdjson::simdjson_result<ondemand::field> item : event) {
      if (item.error() != simdjson::SUCCESS) return false;
      ondemand::field field = item.value_unsafe();
      if (!is_touched(field.key().raw())) continue;
      const std::string_view token = field.value().raw_json_token();
      touched_ += token.size() + static_cast<uint8_t>(token.front());
    }
    return true;
  }

  ondemand::parser parser_;
  std::vector<char> padded_;
  int64_t events_ = 0;
  uint64_t touched_ = 0;
};

}  // namespace

int64_t bare_pass(std::string_view text, unsigned threads) {
  const std::string_view events = events_of(text);
  const size_t chunks = (events.size() + kChunk - 1) / kChunk;
  std::atomic<size_t> next = 0;
  std::atomic<bool> sound = true;
  std::atomic<int64_t> count = 0;
  std::atomic<uint64_t> touched = 0;
  const auto work = [&] {
    Worker worker;
    for (size_t chunk = next++; chunk < chunks && sound; chunk = next++) {
      const size_t from = cut_from(events, chunk * kChunk);
      const size_t to = cut_from(events, std::min((chunk + 1) * kChunk, events.size()));
      if (from < to && !worker.parse(events.substr(from, to - from))) sound = false;
    }
    count += worker.events();
    touched += worker.touched();
  };
  {
    std::vector<std::jthread> others;
    for (unsigned i = 1; i < threads; ++i) others.emplace_back(work);
    work();
  }
  return sound && (touched > 0 || count == 0) ? count.load() : -1;
}

}  // namespace redline::bench
