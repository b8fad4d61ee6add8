#include "trace/document.h"

#include "trace/json_scan.h"

namespace redline::trace {
namespace {

// Small enough for simdjson's index of a chunk to stay in the second-level cache.
constexpr size_t kChunkBytes = 512 << 10;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

class DocumentReader {
 public:
  DocumentReader(std::string_view text, EventSink& sink, IssueLog& issues,
                 const ReadOptions& options)
      : text_(text), sink_(sink), issues_(issues), options_(options) {}

  Document read() {
    size_t at = text_.substr(0, 3) == kByteOrderMark ? kByteOrderMark.size() : 0;
    at = skip_space(text_, at);
    if (at >= text_.size()) return {};
    if (text_[at] == '[') {
      read_events(at + 1);
    } else if (text_[at] == '{') {
      read_object(at + 1);
    }
    return std::move(document_);
  }

 private:
  // Top-level keys, until the object or the text ends or something is no key.
  void read_object(size_t at) {
    while (!document_.cancelled) {
      at = text_.find_first_not_of(" \n\r\t,", at);
      if (at == kTextEnds) return issues_.repaired("object_without_end", text_.size());
      if (text_[at] == '}') return;
      if (text_[at] != '"') return issues_.lost("top_level_malformed", at);
      const size_t key_end = skip_string(text_, at);
      const size_t colon = key_end == kTextEnds ? key_end : skip_space(text_, key_end);
      if (colon == kTextEnds || colon >= text_.size() || text_[colon] != ':') {
        return issues_.lost("top_level_malformed", at);
      }
      const std::string key = decode_string(text_.substr(at + 1, key_end - at - 2));
      at = read_member(key, skip_space(text_, colon + 1));
    }
  }

  // Returns the position behind the value.
  size_t read_member(const std::string& key, size_t at) {
    if (key == "traceEvents" && at < text_.size() && text_[at] == '[') return read_events(at + 1);
    const size_t end = skip_value(text_, at);
    if (end == kTextEnds) {
      issues_.lost("top_level_malformed", at);
      return text_.size();
    }
    document_.values.push_back({key, text_.substr(at, end - at)});
    return end;
  }

  // `at` is behind the '['. Returns the position behind the array.
  size_t read_events(size_t at) {
    document_.has_events = true;
    while (true) {
      if (options_.progress) options_.progress(at, text_.size());
      if (options_.cancel != nullptr && options_.cancel->load()) {
        document_.cancelled = true;
        return text_.size();
      }
      const size_t cut = find_cut(text_, at + kChunkBytes);
      ParseStop stop = fast_.parse(text_, at, cut, sink_);
      if (!stop.sound || (!stop.array_ended && cut == text_.size())) {
        stop = parse_events_tolerantly(text_, stop.at, cut, sink_, issues_);
      }
      if (stop.array_ended) return stop.at;
      at = text_.find_first_not_of(" \n\r\t,", stop.at);
      if (at == kTextEnds) at = text_.size();
    }
  }

  std::string_view text_;
  EventSink& sink_;
  IssueLog& issues_;
  const ReadOptions& options_;
  FastEventParser fast_;
  Document document_;
};

}  // namespace

Document read_document(std::string_view text, EventSink& sink, IssueLog& issues,
                       const ReadOptions& options) {
  return DocumentReader(text, sink, issues, options).read();
}

}  // namespace redline::trace
