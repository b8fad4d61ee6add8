#include "trace/write/rewrite.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "trace/emit/json_scan.h"
#include "trace/model/slice_view.h"
#include "trace/read/event.h"
#include "trace/read/event_parser.h"
#include "trace/read/text_cursor.h"
#include "trace/write/json_repair.h"

namespace redline::trace {
namespace {

bool is_number(std::string_view text) {
  if (text.empty() || text.size() > 18) return false;
  const bool negative = text[0] == '-';
  const std::string_view digits = text.substr(negative ? 1 : 0);
  return !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos &&
         (digits.size() == 1 || digits[0] != '0') && text != "-0";
}

std::string_view flow_category(FlowKind kind) {
  switch (kind) {
    case FlowKind::kLaunch:
      return "ac2g";
    case FlowKind::kForwardBackward:
      return "fwdbwd";
    default:
      return "flow";
  }
}

// The args with another correlation number, which stands where the reader has found it.
std::string with_correlation(std::string_view args, uint32_t number) {
  constexpr std::string_view kKey = "\"correlation\"";
  const size_t key = args.find(kKey);
  if (key == std::string_view::npos) return std::string(args);
  const size_t begin = std::min(args.find_first_not_of(" :\n\r\t", key + kKey.size()), args.size());
  const size_t end = std::min(args.find_first_not_of("0123456789", begin), args.size());
  if (begin == end) return std::string(args);
  return std::string(args.substr(0, begin)) + std::to_string(number) +
         std::string(args.substr(end));
}

// Writes one trace into the writer.
class Rewriting {
 public:
  Rewriting(TraceWriter& writer, const Trace& trace, const RewriteOptions& options)
      : writer_(writer), trace_(trace), options_(options) {}

  // Returns the number of processes.
  uint64_t write_rows(uint64_t first_process) {
    uint64_t processes = 0;
    StringId last_pid;
    // The model keeps no name of a process that has counters or instants only. Its rank is known.
    std::set<std::string> unnamed;
    if (!options_.process_prefix.empty()) unnamed = pids_of(trace_);
    for (const Track& track : trace_.tracks()) {
      if (processes == 0 || track.pid != last_pid) {
        write_process(track, first_process + processes++);
        last_pid = track.pid;
      }
      if (track.thread_name) {
        write_row_info(track, "thread_name", "name", trace_.string(track.thread_name));
      }
      write_sort_index(track, "thread_sort_index", track.sort_index);
      unnamed.erase(std::string(trace_.string(track.pid)));
    }
    for (const std::string& pid : unnamed) {
      write_row_info(pid, "0", "process_name", "name", options_.process_prefix);
    }
    return processes;
  }

  void write_slices() {
    const auto& slices = trace_.slices();
    for (uint32_t i = 0; i < trace_.slice_count() && !stopped_; ++i) {
      const Track& track = trace_.tracks()[trace_.lanes()[slices.lane[i].value].track.value];
      const RawEvent event = event_at(slices.text_offset[i]);
      TextBuffer& text = begin("X", event.category, slices.name[i]);
      write_track(text, track);
      write_time(text, slices.begin_ns[i]);
      text.literal(", \"dur\": ");
      text.microseconds(shifted(slices.end_ns[i]) - shifted(slices.begin_ns[i]));
      write_args(text, event.args, slices.correlation[i]);
      end(text);
      count_row();
    }
  }

  // Returns the number of arrows.
  uint64_t write_flows(uint64_t first_id) {
    uint64_t id = first_id;
    for (const Flow& flow : trace_.flows()) {
      write_flow_end("s", id, flow.kind, flow.from);
      write_flow_end("f", id, flow.kind, flow.to);
      ++id;
    }
    return id - first_id;
  }

  void write_instants() {
    for (const Instant& instant : trace_.instants()) {
      const RawEvent event = event_at(instant.text_offset);
      TextBuffer& text = begin("i", event.category, instant.name);
      const std::string_view scope = find_value(text_.event_text(instant.text_offset), "s");
      text.literal(", \"s\": ");
      text.quoted(scope.empty() ? "t" : decode_string(unquote(scope)));
      write_row(text, trace_.string(instant.pid), trace_.string(instant.tid));
      write_time(text, instant.time_ns);
      if (!event.args.empty()) write_args(text, event.args, 0);
      end(text);
    }
  }

  void write_counters() {
    for (const Counter& counter : trace_.counters()) {
      for (size_t i = 0; i < counter.time_ns.size(); ++i) {
        TextBuffer& text = begin("C", "", counter.name);
        write_row(text, trace_.string(counter.pid), "0");
        write_time(text, counter.time_ns[i]);
        text.literal(", \"args\": {\"\": ");
        text.number(counter.value[i]);
        text.literal("}");
        end(text);
      }
    }
  }

  [[nodiscard]] bool is_stopped() const { return stopped_; }

 private:
  [[nodiscard]] int64_t shifted(int64_t time_ns) const {
    int64_t by_ns = options_.shift_ns;
    if (options_.drift != 0) {
      by_ns += std::llround(options_.drift * (static_cast<double>(time_ns) -
                                              static_cast<double>(options_.drift_at_ns)));
    }
    int64_t result_ns = 0;
    return __builtin_add_overflow(time_ns, by_ns, &result_ns) ? time_ns : result_ns;
  }

  void count_row() {
    constexpr uint64_t kStep = 8192;
    if (++rows_ % kStep == 0 && options_.go_on) stopped_ = !options_.go_on(kStep);
  }

  /// Valid until the next call.
  [[nodiscard]] RawEvent event_at(uint64_t offset) {
    return scan_event(text_.event_text(offset), 0).event;
  }

  TextBuffer& begin(std::string_view phase, std::string_view category_token, StringId name) {
    TextBuffer& text = writer_.begin_event();
    text.literal("{\"ph\": \"");
    text.text(phase);
    text.literal("\", \"cat\": ");
    text.quoted(decode_string(unquote(category_token)));
    text.literal(", \"name\": ");
    text.quoted(trace_.string(name));
    return text;
  }

  void end(TextBuffer& text) {
    text.literal("}");
    writer_.end_event();
  }

  void write_time(TextBuffer& text, int64_t time_ns) {
    text.literal(", \"ts\": ");
    writer_.timestamp(shifted(time_ns));
  }

  // Writes a pid or tid. Numbers stay numbers; others may be any text.
  static void write_id(TextBuffer& text, std::string_view id) {
    if (is_number(id)) {
      text.text(id);
    } else {
      text.quoted(id);
    }
  }

  void write_row(TextBuffer& text, std::string_view pid, std::string_view tid) const {
    text.literal(", \"pid\": ");
    const auto renamed = options_.pids.find(pid);
    write_id(text, renamed == options_.pids.end() ? pid : std::string_view(renamed->second));
    text.literal(", \"tid\": ");
    write_id(text, tid);
  }

  void write_track(TextBuffer& text, const Track& track) const {
    write_row(text, trace_.string(track.pid), trace_.string(track.tid));
  }

  void write_args(TextBuffer& text, std::string_view args, uint32_t correlation) {
    text.literal(", \"args\": ");
    if (args.empty()) return text.literal("{}");
    std::string shifted;
    if (options_.correlation_shift != 0 && correlation != 0) {
      args = shifted = with_correlation(args, correlation + options_.correlation_shift);
    }
    text.text(repair_.sound(args));
  }

  void write_flow_end(std::string_view phase, uint64_t id, FlowKind kind, SliceId slice) {
    const auto& slices = trace_.slices();
    const std::string_view category = flow_category(kind);
    TextBuffer& text = writer_.begin_event();
    text.literal("{\"ph\": \"");
    text.text(phase);
    text.literal("\", \"id\": ");
    text.integer(id);
    write_track(text, track_of(trace_, slice));
    write_time(text, slices.begin_ns[slice.value]);
    text.literal(", \"cat\": \"");
    text.text(category);
    text.literal("\", \"name\": \"");
    text.text(category);
    if (phase == "f") {
      text.literal("\", \"bp\": \"e\"");
    } else {
      text.literal("\"");
    }
    end(text);
  }

  void write_process(const Track& track, uint64_t sort_index) {
    const std::string_view own = trace_.string(track.process_name);
    const bool has_both = !own.empty() && !options_.process_prefix.empty();
    const std::string name = options_.process_prefix + (has_both ? " · " : "") + std::string(own);
    if (track.process_name || !name.empty()) write_row_info(track, "process_name", "name", name);
    if (track.process_label) {
      write_row_info(track, "process_labels", "labels", trace_.string(track.process_label));
    }
    write_sort_index(track, "process_sort_index", static_cast<int64_t>(sort_index));
  }

  TextBuffer& begin_row_info(std::string_view pid, std::string_view tid, std::string_view what) {
    TextBuffer& text = writer_.begin_event();
    text.literal("{\"ph\": \"M\", \"cat\": \"__metadata\", \"name\": \"");
    text.text(what);
    text.literal("\"");
    write_row(text, pid, tid);
    write_time(text, trace_.begin_ns());
    return text;
  }

  void write_row_info(const Track& track, std::string_view what, std::string_view key,
                      std::string_view value) {
    write_row_info(trace_.string(track.pid), trace_.string(track.tid), what, key, value);
  }

  void write_row_info(std::string_view pid, std::string_view tid, std::string_view what,
                      std::string_view key, std::string_view value) {
    TextBuffer& text = begin_row_info(pid, tid, what);
    text.literal(", \"args\": {\"");
    text.text(key);
    text.literal("\": ");
    text.quoted(value);
    text.literal("}");
    end(text);
  }

  void write_sort_index(const Track& track, std::string_view what, int64_t value) {
    TextBuffer& text = begin_row_info(trace_.string(track.pid), trace_.string(track.tid), what);
    text.literal(", \"args\": {\"sort_index\": ");
    text.integer(value);
    text.literal("}");
    end(text);
  }

  TraceWriter& writer_;
  const Trace& trace_;
  TextCursor text_{trace_};
  const RewriteOptions& options_;
  JsonRepair repair_;
  uint64_t rows_ = 0;
  bool stopped_ = false;
};

bool is_written_anew(const std::string& key) {
  return key == "schemaVersion" || key == "displayTimeUnit" || key == "baseTimeNanoseconds" ||
         key == "traceName" || key == "deviceProperties";
}

}  // namespace

bool TraceRewriter::add(const Trace& trace, const RewriteOptions& options) {
  Rewriting rewriting(writer_, trace, options);
  process_count_ += rewriting.write_rows(process_count_);
  rewriting.write_slices();
  if (rewriting.is_stopped()) return false;
  last_flow_id_ += rewriting.write_flows(last_flow_id_ + 1);
  rewriting.write_instants();
  rewriting.write_counters();
  return true;
}

std::set<std::string> pids_of(const Trace& trace) {
  std::set<std::string> pids;
  for (const Track& track : trace.tracks()) pids.emplace(trace.string(track.pid));
  for (const Counter& counter : trace.counters()) pids.emplace(trace.string(counter.pid));
  for (const Instant& instant : trace.instants()) {
    if (!instant.track) pids.emplace(trace.string(instant.pid));
  }
  pids.erase("");  // of an instant of the whole trace
  return pids;
}

int64_t base_of(const Trace& trace, int64_t shift_ns) {
  int64_t first_ns = trace.slice_count() > 0 ? trace.begin_ns() : INT64_MAX;
  if (!trace.instants().empty()) first_ns = std::min(first_ns, trace.instants()[0].time_ns);
  for (const Counter& counter : trace.counters()) {
    for (const int64_t time_ns : counter.time_ns) first_ns = std::min(first_ns, time_ns);
  }
  if (first_ns == INT64_MAX) return 0;
  first_ns += shift_ns;
  return std::min(first_ns, quarter_base_ns(first_ns));
}

TraceHeader header_of(const Trace& trace) {
  TraceHeader header;
  header.base_ns = base_of(trace);
  const std::string& devices = trace.metadata().device_properties_json;
  if (!devices.empty()) header.entries.emplace_back("deviceProperties", devices);
  const auto values = nlohmann::ordered_json::parse(trace.metadata().top_level_json, nullptr,
                                                    /*allow_exceptions=*/false);
  for (const auto& [key, value] : values.items()) {
    if (!is_written_anew(key))
      header.entries.emplace_back(key, value.dump(0));  // HTA needs the space in "rank": 1
  }
  return header;
}

std::string spool_path(const std::string& path) {
  return partial_path(path.ends_with(".gz") ? path : path + ".gz");
}

}  // namespace redline::trace
