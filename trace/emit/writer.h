// Writes a trace in Kineto's JSON dialect, event by event, while the job runs.
//
// Two other tools decide details of the form (both were run to find out): HTA finds the rank with a
// regular expression that needs a space after the colon, and TensorBoard's plugin fails on an event
// without "cat" or "name" and on begin/end pairs. So there is one event a line, only complete
// events, a space after every colon. Memory is constant: events pass through a buffer into a gzip
// stream.
//
// Beside Kineto's keys a finished trace has
//   "redline": {"version": "0.1.0", "events": N, "dropped": N, "dropped_names": N, "threads": N}
// where "dropped" counts events that the recorder saw and could not keep. A trace that reached its
// size limit says so with an event "Size limit reached" and
//   "redline_size_limit": {"max_bytes": N, "dropped_events": N}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "trace/emit/spooled_file.h"
#include "trace/emit/text_buffer.h"
#include "trace/emit/write_pace.h"

namespace redline::trace {

/// A top-level key of the file and its value, which must be JSON.
using Entry = std::pair<std::string, std::string>;

/// Kineto counts "ts" from here, so that 16 digits of microseconds fit a double: unix time rounded
/// down to whole quarters of a year (output_json.h), the same in every process of that quarter.
[[nodiscard]] int64_t quarter_base_ns(int64_t unix_ns);

struct TraceHeader {
  int64_t base_ns = 0;  ///< "baseTimeNanoseconds"
  int64_t pid = 0;      ///< of every CPU event
  std::vector<Entry> entries;
  /// How many bytes of JSON text events may fill, before compression; 0: no limit. At the limit the
  /// file takes no further events except the names of rows and the closing entries, and stays valid
  /// JSON.
  uint64_t max_bytes = 0;
  WritePace* pace = nullptr;  ///< of SpooledFile
  bool is_private = false;    ///< of SpooledFile
};

struct SliceHead {
  std::string_view category;     ///< plain text, e.g. "cpu_op"
  std::string_view quoted_name;  ///< a JSON string with its quotes
  uint64_t tid = 0;
  int64_t begin_ns = 0;  ///< unix time
  int64_t end_ns = 0;
  std::optional<int64_t> pid = {};  ///< none: the header's
};

/// Name, row and time of an event that is no slice.
struct EventPlace {
  std::string_view quoted_name;
  uint64_t tid = 0;
  int64_t time_ns = 0;
  std::optional<int64_t> pid = {};  ///< none: the header's
};

class TraceWriter {
 public:
  /// Spools into `path`. Errors are kept: nothing is written after the first; see error().
  TraceWriter(std::string path, const TraceHeader& header);

  /// Opens a slice; the caller appends the members of "args" and closes it with end_args().
  [[nodiscard]] TextBuffer& begin_slice(const SliceHead& head);
  /// The same for an event of another phase. `head` and `more` are the JSON that follows "ph", such
  /// as R"("i", "s": "t", "cat": ")" and R"(kernel")".
  [[nodiscard]] TextBuffer& begin_event(std::string_view head, std::string_view more,
                                        const EventPlace& place);
  /// Closes "args" and the event.
  void end_args();

  /// One end of an arrow of category and name "fwdbwd" or "ac2g": it binds to the slice of `tid`
  /// that begins at `time_ns`.
  void flow_start(std::string_view category, uint64_t id, uint64_t tid, int64_t time_ns);
  /// `pid` is set if the row `tid` belongs to another process, such as a GPU's.
  void flow_end(std::string_view category, uint64_t id, uint64_t tid, int64_t time_ns,
                std::optional<int64_t> pid = {});

  /// An event of any other form: the caller appends one JSON object.
  TextBuffer& begin_event();
  void end_event();
  /// Appends the value of "ts" to the open event.
  void timestamp(int64_t unix_ns);

  void process(std::string_view name, int64_t time_ns);
  void thread(uint64_t tid, std::string_view name, int64_t time_ns);
  /// Writes one slice over the whole window, on the recorder's own row.
  void span(std::string_view name, int64_t begin_ns, int64_t end_ns);

  /// Sets how the text from here on is compressed; the default is kSmall.
  void set_effort(DeflateEffort effort) { file_.set_effort(effort); }
  /// Brings what was written so far into the file, but for what its pace holds back.
  void flush();
  [[nodiscard]] bool is_written() const { return file_.is_written(); }

  /// Ends the list of events with "Record Window End"; `entries` follow it.
  void complete(int64_t end_ns, const std::vector<Entry>& entries);
  /// The same without that event.
  void complete(const std::vector<Entry>& entries);

  /// Saves the trace under its final name, which the file also holds as "traceName"; gzip if the
  /// name ends in ".gz", else plain. May be called several times, after complete().
  [[nodiscard]] tl::expected<void, std::string> save(const std::string& path);
  /// Nobody wants the trace: removes the file, also where an error has cut it short.
  void drop() { file_.drop(); }

  [[nodiscard]] const std::string& error() const { return file_.error(); }
  [[nodiscard]] uint64_t bytes_written() const { return file_.bytes_written(); }
  /// Events that came after the size limit.
  [[nodiscard]] uint64_t dropped_events() const { return dropped_; }

 private:
  void flow(std::string_view phase, std::string_view category, uint64_t id, std::string_view pid,
            uint64_t tid, int64_t time_ns);
  void begin_metadata(std::string_view quoted_name, uint64_t tid, int64_t time_ns);
  void write_place(std::string_view quoted_name, std::optional<int64_t> pid, uint64_t tid,
                   int64_t time_ns);
  void keep_event();
  void tell_of_limit(int64_t end_ns);
  void append_text();

  SpooledFile file_;
  TextBuffer text_;
  int64_t base_ns_;
  std::string pid_;
  bool first_event_ = true;
  bool first_before_event_ = true;
  size_t event_at_ = 0;  // where the open event begins in text_
  uint64_t max_bytes_ = 0;
  uint64_t text_bytes_ = 0;  // handed to the file
  uint64_t dropped_ = 0;
  bool is_flow_kept_ = true;  // whether the start of the arrow whose end comes next was kept
};

}  // namespace redline::trace
