#include "trace/read/document.h"

#include <climits>
#include <utility>

#include "base/json_values.h"
#include "trace/emit/json_scan.h"

namespace redline::trace {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kEventsKey = "traceEvents";
constexpr std::string_view kQuotedEventsKey = "\"traceEvents\"";
constexpr std::string_view kPadding("\0 \n\r\t,", 6);
constexpr size_t kHeadBytes = 1 << 20;

// The first position of a value.
size_t begin_of(std::string_view text) {
  return skip_space(text, text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0);
}

// The beginning of a text that may still grow, up to its events.
Text::Part head_of(const Text& text, IssueLog& issues) {
  for (size_t wanted = kHeadBytes;; wanted *= 2) {
    const Text::Part part = text.at_least(wanted);
    if (part.is_whole || part.text.find(kEventsKey) != kTextEnds) return part;
    const size_t begin = begin_of(part.text);
    if (begin < part.text.size() && part.text[begin] == '[') return part;
    if (wanted > kMostValueBytes) {
      text.end_here();
      issues.add(Issue::kValueTooLong, 0);
    }
  }
}

class DocumentReader {
 public:
  DocumentReader(const Text& text, CollectedEvents& events, IssueLog& issues,
                 const ReadOptions& options)
      : source_(text),
        part_(head_of(text, issues)),
        events_(events),
        issues_(issues),
        options_(options) {}

  Document read() {
    const std::string_view text = part_.text;
    const size_t at = begin_of(text);
    if (at >= text.size()) return {};
    if (text[at] == '[') {
      document_.is_array = true;
      read_behind(read_events(at + 1));
    } else if (text[at] == '{') {
      read_object(at + 1);
    }
    return std::move(document_);
  }

 private:
  enum class Found { kMember, kEvents, kEnd, kNoMember, kTextEnd };
  struct Member {
    Found found;
    size_t end = 0;  ///< the position behind the member, or of what was found
    TopLevelValue value = {};
  };

  // Reads top-level members until the object or the text ends.
  void read_object(size_t at) {
    while (!document_.cancelled) {
      Member member = find_member(at);
      switch (member.found) {
        case Found::kMember:
          document_.values.push_back(std::move(member.value));
          at = member.end;
          break;
        case Found::kEvents:
          at = read_events(member.end);
          break;
        case Found::kEnd:
          return read_behind(member.end + 1);
        case Found::kNoMember:
          at = read_no_member(member.end);
          break;
        case Found::kTextEnd:
          if (part_.is_whole) return issues_.add(Issue::kObjectWithoutEnd, part_.text.size());
          part_ = source_.at_least(SIZE_MAX);
          break;
      }
    }
  }

  // Reads what is no member. It may be more events, if a bracket too many ended their array early;
  // otherwise the events may stand further on. Returns where to go on.
  size_t read_no_member(size_t at) {
    part_ = source_.at_least(SIZE_MAX);
    if (document_.has_events && part_.text.substr(at).starts_with('{')) {
      issues_.add(Issue::kArrayEndedEarly, at);
      return read_events(at);
    }
    issues_.add(Issue::kTopLevelMalformed, at);
    const size_t key = document_.has_events ? kTextEnds : part_.text.find(kQuotedEventsKey, at + 1);
    return key == kTextEnds ? part_.text.size() : key;
  }

  // Behind the end of the document there may be events, if a bracket too many ended their array
  // early. Anything else is counted as an issue and not read.
  void read_behind(size_t at) {
    part_ = source_.at_least(document_.cancelled ? 0 : SIZE_MAX);
    while (!document_.cancelled) {
      at = part_.text.find_first_not_of(" \n\r\t,", at);
      if (at == kTextEnds || part_.text.find_first_not_of(kPadding, at) == kTextEnds) return;
      if (!document_.is_array || part_.text[at] != '{') break;
      issues_.add(Issue::kArrayEndedEarly, at);
      at = read_events(at);
    }
    if (!document_.cancelled) issues_.add(Issue::kTextBehindEnd, at);
  }

  [[nodiscard]] Member find_member(size_t at) const {
    const std::string_view text = part_.text;
    at = text.find_first_not_of(" \n\r\t,", at);
    if (at == kTextEnds) return {Found::kTextEnd};
    if (text[at] == '}') return {Found::kEnd, at};
    if (text[at] != '"') return {Found::kNoMember, at};
    const Found cut = part_.is_whole ? Found::kNoMember : Found::kTextEnd;
    const size_t key_end = skip_string(text, at);
    const size_t colon = key_end == kTextEnds ? text.size() : skip_space(text, key_end);
    if (colon >= text.size()) return {cut, at};
    if (text[colon] != ':') return {Found::kNoMember, at};
    const size_t begin = skip_space(text, colon + 1);
    std::string key = decode_string(text.substr(at + 1, key_end - at - 2));
    if (key == kEventsKey && begin < text.size() && text[begin] == '[') {
      return {Found::kEvents, begin + 1};
    }
    const size_t end = skip_value(text, begin);
    if (end == kTextEnds) return {cut, begin};
    return {Found::kMember, end, {std::move(key), text.substr(begin, end - begin)}};
  }

  // `at` is the position behind the '['. Returns the position behind the array.
  size_t read_events(size_t at) {
    document_.has_events = true;
    const EventArrayEnd end = read_event_array(source_, at, options_, events_, issues_);
    document_.cancelled = end.cancelled;
    part_ = source_.at_least(end.cancelled ? 0 : SIZE_MAX);
    return end.at;
  }

  const Text& source_;
  Text::Part part_;
  CollectedEvents& events_;
  IssueLog& issues_;
  const ReadOptions& options_;
  Document document_;
};

using Json = nlohmann::json;

// A number from 0 on that fits; one above INT64_MAX reads as a negative one.
std::optional<int> count_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  const auto number = found->get<int64_t>();
  return number >= 0 && number <= INT_MAX ? std::optional(static_cast<int>(number)) : std::nullopt;
}

void read_distributed_info(const Json& info, Metadata& metadata) {
  if (!info.is_object()) return;
  metadata.rank = count_in(info, "rank");
  metadata.world_size = count_in(info, "world_size");
  metadata.backend = text_in(info, "backend");
}

}  // namespace

Document read_document(const Text& text, CollectedEvents& events, IssueLog& issues,
                       const ReadOptions& options) {
  return DocumentReader(text, events, issues, options).read();
}

int64_t base_time_ns(std::span<const TopLevelValue> values) {
  for (const TopLevelValue& value : values) {
    if (value.key == "baseTimeNanoseconds") {
      return parse_scaled(unquote(value.json), 0).value_or(INT64_MAX);
    }
  }
  return 0;
}

Metadata read_metadata(std::span<const TopLevelValue> values, IssueLog& issues) {
  Metadata metadata;
  Json others = Json::object();
  for (const TopLevelValue& value : values) {
    if (value.json.size() > kMostValueBytes) {
      issues.add(Issue::kValueTooLong, 0);
      continue;
    }
    Json parsed = Json::parse(value.json, nullptr, /*allow_exceptions=*/false);
    if (parsed.is_discarded() || is_too_deep(value.json)) {
      issues.add(Issue::kTopLevelValueMalformed, 0);
      continue;
    }
    if (value.key == "distributedInfo") read_distributed_info(parsed, metadata);
    if (value.key == "host_name" && parsed.is_string()) metadata.host = parsed.get<std::string>();
    if (value.key == "samples" && parsed.is_array() && !parsed.empty()) {
      issues.add(Issue::kSampleNotShown, 0, parsed.size());
    }
    if (value.key == "deviceProperties") {
      metadata.device_properties_json = value.json;
    } else {
      others[value.key] = std::move(parsed);
    }
  }
  metadata.top_level_json = json_text(others);
  return metadata;
}

}  // namespace redline::trace
