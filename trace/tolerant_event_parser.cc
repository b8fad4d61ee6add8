#include <algorithm>

#include "trace/event_parser.h"
#include "trace/json_scan.h"

namespace redline::trace {
namespace {

constexpr size_t kLongestName = 1 << 16;

bool has_control_character(std::string_view token) {
  return std::any_of(token.begin(), token.end(),
                     [](char c) { return static_cast<uint8_t>(c) < ' '; });
}

// Behind the string value at `at`. PyTorch 2.11 writes quotes in names unescaped, so a quote that
// no comma, bracket or quote follows belongs to the string.
size_t skip_string_value(std::string_view text, size_t at, bool& stray_quote) {
  size_t end = skip_string(text, at);
  while (end != kTextEnds && end - at < kLongestName) {
    const size_t next = skip_space(text, end);
    if (next == text.size() || std::string_view(",}]{[\"").find(text[next]) != kTextEnds)
      return end;
    const size_t quote = skip_string(text, end - 1);
    if (quote == kTextEnds) return end;
    stray_quote = true;
    end = quote;
  }
  return end;
}

enum class EventEnd { kWhole, kBroken, kCut };

class EventScanner {
 public:
  EventScanner(std::string_view text, size_t at, IssueLog& issues)
      : text_(text), at_(at), issues_(issues) {
    event_.offset = at;
    event_.needs_repair = true;
  }

  EventEnd scan() {
    ++at_;
    bool needs_comma = false;
    while (true) {
      at_ = skip_space(text_, at_);
      if (at_ >= text_.size()) return EventEnd::kCut;
      switch (text_[at_]) {
        case '}':
          ++at_;
          return EventEnd::kWhole;
        case ',':
          ++at_;
          needs_comma = false;
          break;
        case '"':
          if (needs_comma) issues_.repaired("missing_comma", at_);
          needs_comma = true;
          if (const EventEnd end = scan_field(); end != EventEnd::kWhole) return end;
          break;
        case '{':
        case ']':
          // The event's own brace is missing: what follows is the next event or the array's end.
          if (event_.phase.empty()) return EventEnd::kBroken;
          issues_.repaired("event_without_closing_brace", event_.offset);
          return EventEnd::kWhole;
        default:
          return EventEnd::kBroken;
      }
    }
  }

  [[nodiscard]] const RawEvent& event() const { return event_; }
  [[nodiscard]] size_t at() const { return at_; }

 private:
  EventEnd scan_field() {
    const size_t key_begin = at_;
    at_ = skip_string(text_, at_);
    if (at_ == kTextEnds) return EventEnd::kCut;
    const std::string_view key = text_.substr(key_begin + 1, at_ - key_begin - 2);
    at_ = skip_space(text_, at_);
    if (at_ >= text_.size()) return EventEnd::kCut;
    if (text_[at_] != ':') return EventEnd::kBroken;
    at_ = skip_space(text_, at_ + 1);
    return scan_value(event_field(event_, key));
  }

  EventEnd scan_value(std::string_view* target) {
    const size_t begin = at_;
    if (begin >= text_.size()) return EventEnd::kCut;
    const bool is_string = text_[begin] == '"';
    bool stray_quote = false;
    at_ = is_string ? skip_string_value(text_, begin, stray_quote) : skip_value(text_, begin);
    if (at_ == kTextEnds) return EventEnd::kCut;
    if (at_ == begin) return EventEnd::kBroken;
    const std::string_view token = text_.substr(begin, at_ - begin);
    if (stray_quote) issues_.repaired("unescaped_quote", begin);
    if (is_string && has_control_character(token)) issues_.repaired("control_character", begin);
    if (target == &event_.args && token.front() != '{') return EventEnd::kWhole;
    if (target != nullptr) *target = token;
    return EventEnd::kWhole;
  }

  std::string_view text_;
  size_t at_;
  IssueLog& issues_;
  RawEvent event_;
};

// The '{' of the next event behind a broken one.
size_t find_next_event(std::string_view text, size_t from) {
  const size_t cut = find_cut(text, from);
  return cut >= text.size() ? text.size() : text.find('{', cut);
}

}  // namespace

size_t find_cut(std::string_view text, size_t from) {
  for (size_t at = from; (at = text.find('}', at)) != kTextEnds; ++at) {
    const size_t comma = skip_space(text, at + 1);
    if (comma >= text.size()) break;
    if (text[comma] != ',') continue;
    const size_t next = skip_space(text, comma + 1);
    if (next < text.size() && text[next] == '{') return at + 1;
  }
  return text.size();
}

ScannedEvent scan_event(std::string_view text, size_t at) {
  IssueLog ignored;
  EventScanner scanner(text, at, ignored);
  const EventEnd end = scanner.scan();
  return {scanner.event(), end == EventEnd::kWhole ? scanner.at() : text.size()};
}

ParseStop parse_events_tolerantly(std::string_view text, size_t from, size_t to, EventSink& sink,
                                  IssueLog& issues) {
  size_t at = from;
  bool after_comma = false;
  while (true) {
    at = skip_space(text, at);
    if (at >= text.size()) {
      issues.repaired("array_without_end", text.size());
      return {text.size(), true, true};
    }
    if (at >= to && text[at] != ']') return {at, false, true};
    const char c = text[at];
    if (c == ']') {
      if (after_comma) issues.repaired("trailing_comma", at);
      return {at + 1, true, true};
    }
    if (c == ',') {
      if (after_comma) issues.repaired("extra_comma", at);
      after_comma = true;
      ++at;
      continue;
    }
    after_comma = false;
    if (c != '{') {
      issues.lost("not_an_event", at);
      const size_t end = skip_value(text, at);
      at = end == kTextEnds ? find_next_event(text, at + 1) : std::max(end, at + 1);
      continue;
    }
    EventScanner scanner(text, at, issues);
    switch (scanner.scan()) {
      case EventEnd::kWhole:
        sink.add(scanner.event());
        at = scanner.at();
        break;
      case EventEnd::kBroken:
        issues.lost("event_malformed", at);
        at = find_next_event(text, at + 1);
        break;
      case EventEnd::kCut:
        issues.lost("event_cut", at);
        at = find_next_event(text, at + 1);
        break;
    }
  }
}

}  // namespace redline::trace
