#include <algorithm>

#include "trace/emit/json_scan.h"
#include "trace/read/event_parser.h"
#include "trace/read/tolerant_scan.h"

namespace redline::trace {
namespace {

// Looking this far ahead in vain is cheap.
constexpr uint64_t kNearBytes = 64 << 10;

class EventScanner {
 public:
  EventScanner(std::string_view text, size_t at, IssueLog& issues, bool seek_quotes = true)
      : text_(text), scan_(text, at), issues_(issues) {
    event_.offset = at;
    event_.needs_repair = true;
    if (!seek_quotes) scan_.take_quotes_as_they_are();
  }

  ScanEnd scan() {
    scan_.skip(1);
    bool needs_comma = false;
    while (true) {
      scan_.skip_space();
      if (scan_.at_end()) return ScanEnd::kCut;
      switch (scan_.next()) {
        case '}':
          scan_.skip(1);
          return ScanEnd::kWhole;
        case ',':
          scan_.skip(1);
          needs_comma = false;
          break;
        case '"':
          if (needs_comma) issues_.add(Issue::kMissingComma, scan_.at());
          needs_comma = true;
          if (const ScanEnd end = scan_member(); end != ScanEnd::kWhole) return end;
          break;
        case '{':
        case ']':
          // The event's own brace is missing: what follows is the next event or the array's end.
          if (event_.phase.empty()) return ScanEnd::kBroken;
          issues_.add(Issue::kEventWithoutClosingBrace, event_.offset);
          return ScanEnd::kWhole;
        default:
          return ScanEnd::kBroken;
      }
    }
  }

  void take_brackets_as_they_are() { scan_.take_brackets_as_they_are(); }

  [[nodiscard]] const RawEvent& event() const { return event_; }
  [[nodiscard]] size_t at() const { return scan_.at(); }
  [[nodiscard]] uint64_t visited() const { return scan_.visited(); }

 private:
  ScanEnd scan_member() {
    const size_t key_begin = scan_.at();
    Flaws flaws;
    if (const ScanEnd end = scan_.skip_string(flaws); end != ScanEnd::kWhole) return end;
    const std::string_view key = text_.substr(key_begin + 1, scan_.at() - key_begin - 2);
    scan_.skip_space();
    if (scan_.at_end()) return ScanEnd::kCut;
    if (scan_.next() != ':') return ScanEnd::kBroken;
    scan_.skip(1);
    scan_.skip_space();
    return scan_value(event_field(event_, key), flaws);
  }

  ScanEnd scan_value(std::string_view* target, Flaws flaws) {
    const size_t begin = scan_.at();
    if (const ScanEnd end = scan_.skip_value(flaws); end != ScanEnd::kWhole) return end;
    const std::string_view token = text_.substr(begin, scan_.at() - begin);
    if (flaws.unescaped_quote) issues_.add(Issue::kUnescapedQuote, begin);
    if (flaws.unmatched_bracket) issues_.add(Issue::kUnmatchedBracket, begin);
    if (flaws.control_character) issues_.add(Issue::kControlCharacter, begin);
    // Broken UTF-8 in these three is reported when they are decoded.
    const bool is_decoded =
        target == &event_.name || target == &event_.pid || target == &event_.tid;
    if (flaws.invalid_utf8 && !is_decoded) issues_.add(Issue::kInvalidUtf8, begin);
    if (target == &event_.args && token.front() != '{') return ScanEnd::kWhole;
    if (target != nullptr) *target = token;
    return ScanEnd::kWhole;
  }

  std::string_view text_;
  TolerantScan scan_;
  IssueLog& issues_;
  RawEvent event_;
};

class TolerantParser {
 public:
  TolerantParser(std::string_view text, size_t to, EventSink& sink, IssueLog& issues,
                 ScanWork& work)
      : text_(text), to_(to), sink_(sink), issues_(issues), work_(work) {}

  ParseStop parse(size_t at) {
    bool after_comma = false;
    while (true) {
      at = skip_space(text_, at);
      if (at >= text_.size()) {
        issues_.add(Issue::kArrayWithoutEnd, text_.size());
        return {text_.size(), true, true};
      }
      const char c = text_[at];
      if (at >= to_ && !astray_ && c != ']') return {at, false, true};
      if (c == ']') {
        // This bracket may belong to the remains of a broken event and not end the array.
        const size_t next = astray_ ? find_next_event(at + 1) : text_.size();
        if (next == text_.size()) {
          if (after_comma) issues_.add(Issue::kTrailingComma, at);
          return {at + 1, true, true};
        }
        at = next;
      } else if (c == ',') {
        if (after_comma) issues_.add(Issue::kExtraComma, at);
        ++at;
      } else {
        at = c == '{' ? parse_event(at) : skip_other(at);
      }
      after_comma = c == ',';
    }
  }

 private:
  // These two functions return where to go on.
  size_t parse_event(size_t at) {
    EventScanner scanner(text_.substr(0, limit_of(at)), at, issues_, may_look_far());
    const ScanEnd end = scanner.scan();
    account(scanner.visited(), end == ScanEnd::kWhole ? scanner.at() - at : 0);
    if (end == ScanEnd::kWhole) {
      // This is a piece of a broken event, which was counted already.
      if (astray_ && scanner.event().phase.empty()) return scanner.at();
      astray_ = false;
      sink_.add(scanner.event());
      return scanner.at();
    }
    const bool is_cut = end == ScanEnd::kCut && scanner.at() == text_.size();
    if (!is_cut || !seen_cut_) issues_.add(is_cut ? Issue::kEventCut : Issue::kEventMalformed, at);
    seen_cut_ = seen_cut_ || is_cut;
    astray_ = true;
    return find_next_event(at + 1);
  }

  size_t skip_other(size_t at) {
    if (!astray_) issues_.add(Issue::kNotAnEvent, at);
    TolerantScan scan(text_.substr(0, limit_of(at)), at);
    scan.take_quotes_as_they_are();
    Flaws ignored;
    const ScanEnd end = scan.skip_value(ignored);
    account(scan.visited(), end == ScanEnd::kWhole ? scan.at() - at : 0);
    if (end == ScanEnd::kWhole) return scan.at();
    astray_ = true;
    return end == ScanEnd::kBroken && scan.at() == at ? at + 1 : find_next_event(at + 1);
  }

  // A value may be looked at twice (names with quotes) without counting as waste.
  void account(uint64_t visited, uint64_t used) {
    work_.visited += visited;
    work_.spend(visited - std::min(visited, 2 * used));
  }

  [[nodiscard]] bool may_look_far() const { return work_.vain_left > kNearBytes; }

  // How far the value at `at` may reach. A text full of brackets that never close would be looked
  // at to its end again and again; once too much was looked at in vain, a value must be whole at
  // the next place where events meet.
  size_t limit_of(size_t at) {
    if (may_look_far()) {
      return at + static_cast<size_t>(std::min<uint64_t>(work_.vain_left, text_.size() - at));
    }
    const size_t cut = find_cut(text_, at + 1);
    work_.visited += cut - at;
    return cut;
  }

  // The '{' of the next event behind a broken one.
  size_t find_next_event(size_t from) {
    const size_t cut = find_cut(text_, from);
    const size_t next = cut >= text_.size() ? text_.size() : text_.find('{', cut);
    work_.visited += next - std::min(next, from);
    return next;
  }

  std::string_view text_;
  size_t to_;
  EventSink& sink_;
  IssueLog& issues_;
  ScanWork& work_;
  bool astray_ = false;  // behind a broken event, so that the level of brackets is not known
  bool seen_cut_ = false;
};

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
  if (scanner.scan() == ScanEnd::kWhole) return {scanner.event(), scanner.at()};
  EventScanner lenient(text, at, ignored);
  lenient.take_brackets_as_they_are();
  const EventScanner& found = lenient.scan() == ScanEnd::kWhole ? lenient : scanner;
  return {found.event(), found.at()};
}

ParseStop parse_events_tolerantly(std::string_view text, size_t from, size_t to, EventSink& sink,
                                  IssueLog& issues, ScanWork& work) {
  return TolerantParser(text, to, sink, issues, work).parse(from);
}

}  // namespace redline::trace
