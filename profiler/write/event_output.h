// The trace file of one window, and how simple kinds of records look in it. Operators, GPU work and
// NVTX events have classes of their own, because these must remember earlier events. For the writer
// thread only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "profiler/log/record.h"
#include "profiler/log/text_table.h"
#include "trace/emit/writer.h"

namespace redline::profiler {

class EventOutput {
 public:
  EventOutput(const TextTable& texts, std::string spool_path, const trace::TraceHeader& header,
              int64_t unix_offset_ns)
      : texts_(texts),
        unix_offset_ns_(unix_offset_ns),
        pid_(header.pid),
        file_(std::move(spool_path), header) {}

  [[nodiscard]] trace::TraceWriter& file() { return file_; }
  [[nodiscard]] const trace::TraceWriter& file() const { return file_; }
  [[nodiscard]] int64_t pid() const { return pid_; }
  [[nodiscard]] int64_t unix_ns(int64_t monotonic) const { return monotonic + unix_offset_ns_; }

  /// A name with its quotes, valid until the next round of the writer.
  [[nodiscard]] std::string_view text(TextId id) { return texts_.text(id); }
  /// Members of an object, likewise. The text may be gone if the event was open for long.
  [[nodiscard]] std::string_view members(TextId id) {
    return texts_.text(id, "\"not kept\": true");
  }
  [[nodiscard]] uint64_t lost_texts() const { return texts_.lost(); }

  /// Begins an event that is no slice. `head` and `more` are the text after "ph": … up to the next
  /// comma. The caller writes members of "args"; end_event() closes "args" and the event.
  [[nodiscard]] trace::TextBuffer& begin_event(std::string_view head, std::string_view quoted_name,
                                               uint64_t tid, int64_t begin_ns,
                                               std::string_view more = {}) {
    return file_.begin_event(
        head, more, {.quoted_name = quoted_name, .tid = tid, .time_ns = unix_ns(begin_ns)});
  }
  void end_event(trace::TextBuffer& text) {
    text.literal("}}");
    file_.end_event();
    count_event();
  }

  /// The number of events so far, including those that found no room. Each calls count_event().
  [[nodiscard]] uint64_t events() const { return events_; }
  void count_event() {
    ++events_;
    if (file_.dropped_events() == 0) ++kept_;
  }
  [[nodiscard]] uint64_t kept() const { return kept_; }

 private:
  TextReader texts_;
  const int64_t unix_offset_ns_;
  const int64_t pid_;
  trace::TraceWriter file_;
  uint64_t events_ = 0;
  uint64_t kept_ = 0;
};

void write_slice(EventOutput& out, const Record& record, uint64_t tid);
void write_mark(EventOutput& out, const Record& record, uint64_t tid);
void write_memory(EventOutput& out, const Record& record, uint64_t tid);
void write_frame(EventOutput& out, const Record& record, uint64_t tid);
void write_counter(EventOutput& out, const Record& record);
void write_nccl(EventOutput& out, const Record& record, uint64_t tid);

}  // namespace redline::profiler
