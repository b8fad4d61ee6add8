#include "trace/emit/writer.h"

#include <algorithm>

namespace redline::trace {
namespace {

constexpr std::string_view kMetadata = "\"M\", \"cat\": \"__metadata\"";
constexpr size_t kBufferStep = 128 * 1024;
constexpr int64_t kQuarterNs = 7'889'238LL * 1'000'000'000LL;

void append_entries(TextBuffer& text, const std::vector<Entry>& entries) {
  for (const auto& [key, json] : entries) {
    text.quoted(key);
    text.literal(": ");
    text.text(json);
    text.literal(",\n");
  }
}

}  // namespace

int64_t quarter_base_ns(int64_t unix_ns) { return unix_ns / kQuarterNs * kQuarterNs; }

TraceWriter::TraceWriter(std::string path, const TraceHeader& header)
    : file_(std::move(path), header.pace, header.is_private),
      base_ns_(header.base_ns),
      pid_(std::to_string(header.pid)),
      max_bytes_(header.max_bytes) {
  text_.literal("{\n\"schemaVersion\": 1,\n");
  append_entries(text_, header.entries);
  text_.literal("\"displayTimeUnit\": \"ms\",\n\"baseTimeNanoseconds\": ");
  text_.integer(base_ns_);
  text_.literal(",\n\"traceEvents\": [");
  flush();
}

TextBuffer& TraceWriter::begin_event() {
  event_at_ = text_.size();
  first_before_event_ = first_event_;
  if (first_event_) {
    text_.literal("\n");
  } else {
    text_.literal(",\n");
  }
  first_event_ = false;
  return text_;
}

void TraceWriter::end_event() {
  const bool is_full = dropped_ > 0 || text_bytes_ + text_.size() > max_bytes_;
  if (max_bytes_ == 0 || !is_full) return keep_event();
  text_.truncate(event_at_);
  first_event_ = first_before_event_;
  ++dropped_;
}

void TraceWriter::keep_event() {
  if (text_.size() >= kBufferStep) append_text();
}

void TraceWriter::append_text() {
  if (file_.error().empty()) file_.append(text_.view());
  text_bytes_ += text_.size();
  text_.clear();
}

void TraceWriter::timestamp(int64_t unix_ns) { text_.microseconds(unix_ns - base_ns_); }

void TraceWriter::write_place(std::string_view quoted_name, std::optional<int64_t> pid,
                              uint64_t tid, int64_t time_ns) {
  text_.literal(", \"name\": ");
  text_.text(quoted_name);
  text_.literal(", \"pid\": ");
  if (pid) {
    text_.integer(*pid);
  } else {
    text_.text(pid_);
  }
  text_.literal(", \"tid\": ");
  text_.integer(tid);
  text_.literal(", \"ts\": ");
  timestamp(time_ns);
}

TextBuffer& TraceWriter::begin_slice(const SliceHead& head) {
  begin_event();
  text_.literal("{\"ph\": \"X\", \"cat\": \"");
  text_.text(head.category);
  text_.literal("\"");
  write_place(head.quoted_name, head.pid, head.tid, head.begin_ns);
  text_.literal(", \"dur\": ");
  text_.microseconds(head.end_ns - head.begin_ns);
  text_.literal(", \"args\": {");
  return text_;
}

TextBuffer& TraceWriter::begin_event(std::string_view head, std::string_view more,
                                     const EventPlace& place) {
  begin_event();
  text_.literal("{\"ph\": ");
  text_.text(head);
  text_.text(more);
  write_place(place.quoted_name, place.pid, place.tid, place.time_ns);
  text_.literal(", \"args\": {");
  return text_;
}

void TraceWriter::end_args() {
  text_.literal("}}");
  end_event();
}

void TraceWriter::flow(std::string_view phase, std::string_view category, uint64_t id,
                       std::string_view pid, uint64_t tid, int64_t time_ns) {
  begin_event();
  text_.literal("{\"ph\": \"");
  text_.text(phase);
  text_.literal("\", \"id\": ");
  text_.integer(id);
  text_.literal(", \"pid\": ");
  text_.text(pid);
  text_.literal(", \"tid\": ");
  text_.integer(tid);
  text_.literal(", \"ts\": ");
  timestamp(time_ns);
  text_.literal(", \"cat\": \"");
  text_.text(category);
  text_.literal("\", \"name\": \"");
  text_.text(category);
}

void TraceWriter::flow_start(std::string_view category, uint64_t id, uint64_t tid,
                             int64_t time_ns) {
  const uint64_t dropped_before = dropped_;
  flow("s", category, id, pid_, tid, time_ns);
  text_.literal("\"}");
  end_event();
  is_flow_kept_ = dropped_ == dropped_before;
}

void TraceWriter::flow_end(std::string_view category, uint64_t id, uint64_t tid, int64_t time_ns,
                           std::optional<int64_t> pid) {
  flow("f", category, id, pid ? std::to_string(*pid) : pid_, tid, time_ns);
  text_.literal("\", \"bp\": \"e\"}");
  // An arrow is kept or dropped with both its ends, also at the size limit.
  if (is_flow_kept_) {
    keep_event();
  } else {
    end_event();
  }
}

void TraceWriter::begin_metadata(std::string_view quoted_name, uint64_t tid, int64_t time_ns) {
  (void)begin_event(kMetadata, {}, {.quoted_name = quoted_name, .tid = tid, .time_ns = time_ns});
}

void TraceWriter::process(std::string_view name, int64_t time_ns) {
  begin_metadata("\"process_name\"", 0, time_ns);
  text_.literal("\"name\": ");
  text_.quoted(name);
  text_.literal("}}");
  keep_event();
  begin_metadata("\"process_labels\"", 0, time_ns);
  text_.literal("\"labels\": \"CPU\"");
  text_.literal("}}");
  keep_event();
  begin_metadata("\"process_sort_index\"", 0, time_ns);
  text_.literal("\"sort_index\": ");
  text_.text(pid_);
  text_.literal("}}");
  keep_event();
}

void TraceWriter::thread(uint64_t tid, std::string_view name, int64_t time_ns) {
  begin_metadata("\"thread_name\"", tid, time_ns);
  text_.literal("\"name\": ");
  text_.quoted("thread " + std::to_string(tid) + " (" + std::string(name) + ")");
  text_.literal("}}");
  keep_event();
  begin_metadata("\"thread_sort_index\"", tid, time_ns);
  text_.literal("\"sort_index\": ");
  text_.integer(tid);
  text_.literal("}}");
  keep_event();
}

void TraceWriter::span(std::string_view name, int64_t begin_ns, int64_t end_ns) {
  begin_event();
  text_.literal(
      "{\"ph\": \"X\", \"cat\": \"Trace\", \"pid\": \"Spans\", \"tid\": \"Redline\", \"name\": ");
  text_.quoted(name);
  text_.literal(", \"ts\": ");
  timestamp(begin_ns);
  text_.literal(", \"dur\": ");
  text_.microseconds(end_ns - begin_ns);
  text_.literal(", \"args\": {");
  text_.literal("}}");
  keep_event();
}

void TraceWriter::flush() {
  append_text();
  if (file_.error().empty()) file_.flush();
}

void TraceWriter::tell_of_limit(int64_t end_ns) {
  begin_event();
  text_.literal(
      "{\"ph\": \"i\", \"cat\": \"Trace\", \"s\": \"g\", \"name\": \"Size limit reached\", "
      "\"pid\": \"\", \"tid\": \"\", \"ts\": ");
  timestamp(end_ns);
  text_.literal(", \"args\": {\"dropped events\": ");
  text_.integer(dropped_);
  text_.literal("}}");
}

void TraceWriter::complete(int64_t end_ns, const std::vector<Entry>& entries) {
  if (dropped_ > 0) tell_of_limit(end_ns);
  begin_event();
  text_.literal(
      "{\"ph\": \"i\", \"cat\": \"Trace\", \"s\": \"g\", \"name\": \"Record Window End\", "
      "\"pid\": \"\", \"tid\": \"\", \"ts\": ");
  timestamp(end_ns);
  text_.literal("}");
  complete(entries);
}

void TraceWriter::complete(const std::vector<Entry>& entries) {
  text_.literal("\n],\n");
  if (dropped_ > 0) {
    text_.literal("\"redline_size_limit\": {\"max_bytes\": ");
    text_.integer(max_bytes_);
    text_.literal(", \"dropped_events\": ");
    text_.integer(dropped_);
    text_.literal("},\n");
  }
  append_entries(text_, entries);
  flush();
}

tl::expected<void, std::string> TraceWriter::save(const std::string& path) {
  return file_.save(path, "\"traceName\": " + json_string(path) + "\n}\n");
}

}  // namespace redline::trace
