#include "trace/read/tolerant_scan.h"

#include <algorithm>

#include "base/text_search.h"
#include "trace/emit/json_scan.h"
#include "trace/read/event_parser.h"

namespace redline::trace {
namespace {

// No name is longer than this, so the search for a string's true end may stop here.
constexpr size_t kLongestName = 1 << 16;

constexpr auto kStructural = byte_set("{}[]:,\"");
constexpr auto kEndsScalar = byte_set("{}[]:,\" \n\r\t");

size_t find_in(const ByteSet& set, std::string_view text, size_t at) {
  while (at < text.size() && !is_in(set, text[at])) ++at;
  return at;
}

}  // namespace

void TolerantScan::move_to(size_t at) {
  at = std::min(at, text_.size());
  visited_ += at - at_;
  at_ = at;
}

void TolerantScan::skip_space() { move_to(trace::skip_space(text_, at_)); }

ScanEnd TolerantScan::skip_string(Flaws& flaws) {
  for (size_t at = at_ + 1; at < text_.size();) {
    const auto byte = static_cast<uint8_t>(text_[at]);
    if (byte == '"') {
      move_to(at + 1);
      return ScanEnd::kWhole;
    }
    if (byte == '\\') {
      at += 2;
    } else if (byte >= 0x80) {
      const size_t length = utf8_length(text_.substr(at, 4));
      if (length == 0) flaws.invalid_utf8 = true;
      at += std::max<size_t>(length, 1);
    } else {
      if (byte < ' ') flaws.control_character = true;
      ++at;
    }
  }
  move_to(text_.size());
  return ScanEnd::kCut;
}

ScanEnd TolerantScan::skip_value(Flaws& flaws) {
  if (at_end()) return ScanEnd::kCut;
  switch (next()) {
    case '"':
      return skip_string_value(flaws);
    case '{':
    case '[':
      return skip_container(flaws);
    default:
      return skip_scalar();
  }
}

ScanEnd TolerantScan::skip_scalar() {
  const size_t end = find_in(kEndsScalar, text_, at_);
  if (end == at_) return ScanEnd::kBroken;
  move_to(end);
  return ScanEnd::kWhole;
}

ScanEnd TolerantScan::skip_string_value(Flaws& flaws) {
  const size_t begin = at_;
  if (skip_string(flaws) == ScanEnd::kCut) return ScanEnd::kCut;
  if (!seek_quotes_ || value_ends()) return ScanEnd::kWhole;
  const size_t first_end = at_;
  Flaws longer = flaws;
  longer.unescaped_quote = true;
  while (at_ - begin < kLongestName) {
    const size_t from = at_--;  // the quote at which it stopped may be inside the string
    if (skip_string(longer) == ScanEnd::kCut) break;
    // A name does not span lines or events.
    const std::string_view more = text_.substr(from, at_ - from);
    if (more.find('\n') != kTextEnds || find_cut(more, 0) != more.size()) break;
    if (value_ends()) {
      flaws = longer;
      return ScanEnd::kWhole;
    }
  }
  at_ = first_end;
  take_quotes_as_they_are();
  return ScanEnd::kWhole;
}

// Whether the following text can follow a member's value.
bool TolerantScan::value_ends() {
  size_t next = trace::skip_space(text_, at_);
  while (next < text_.size() && text_[next] == ',') {
    next = trace::skip_space(text_, next + 1);
  }
  visited_ += next - at_;
  if (next >= text_.size()) return true;
  switch (text_[next]) {
    case ']':
    case '{':
      return true;
    case '}': {
      const size_t after = trace::skip_space(text_, next + 1);
      visited_ += after - next;
      return after >= text_.size() || text_[after] != '"';
    }
    case '"':
      return key_stands_at(next);
    default:
      return false;
  }
}

bool TolerantScan::key_stands_at(size_t at) {
  TolerantScan ahead(text_, at);
  Flaws ignored;
  const ScanEnd end = ahead.skip_string(ignored);
  ahead.skip_space();
  visited_ += ahead.visited();
  return end == ScanEnd::kCut || ahead.at_end() || ahead.next() == ':';
}

// False if the next event seems to begin here, which means that this one was not closed.
bool TolerantScan::open_bracket(char bracket, Flaws& flaws) {
  if (!open_.empty() && open_.back() == '{' && last_ != ':') {
    if (suspect_events_ && bracket == '{' && last_ == ',') return false;
    flaws.unmatched_bracket = true;
  }
  open_.push_back(bracket);
  return true;
}

// If brackets do not match, only those of the outermost one's kind count, as for the fast parser.
// False if the event itself is closed while an array in it is not.
bool TolerantScan::close_bracket(char opening, Flaws& flaws) {
  if (open_.back() != opening) {
    flaws.unmatched_bracket = true;
    if (open_.front() != opening) {
      return opening == '[' || !suspect_events_ || open_.find('{') != std::string::npos;
    }
    open_.resize(open_.rfind(opening) + 1);
  }
  open_.pop_back();
  return true;
}

ScanEnd TolerantScan::skip_container(Flaws& flaws) {
  open_.clear();
  last_ = ':';
  while (true) {
    move_to(find_in(kStructural, text_, at_));
    if (at_end()) return ScanEnd::kCut;
    const char c = next();
    if (c == '"') {
      const bool is_member_value = last_ == ':' && open_.back() == '{';
      const ScanEnd end = is_member_value ? skip_string_value(flaws) : skip_string(flaws);
      if (end != ScanEnd::kWhole) return end;
      last_ = c;
      continue;
    }
    if (c == '{' || c == '[') {
      if (!open_bracket(c, flaws)) return ScanEnd::kBroken;
    } else if (c == '}' || c == ']') {
      if (!close_bracket(c == '}' ? '{' : '[', flaws)) return ScanEnd::kBroken;
    }
    last_ = c;
    skip(1);
    if (open_.empty()) return ScanEnd::kWhole;
  }
}

}  // namespace redline::trace
