// NVTX events in the trace: nested ranges as slices, marks as instants, and ranges that overlap as
// async events, whose begin and end are found by their number. Writer thread only.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "profiler/log/record.h"
#include "profiler/write/event_output.h"

namespace redline::profiler {

class NvtxWriter {
 public:
  explicit NvtxWriter(EventOutput& out) : out_(out) {}

  void add(const Record& record, uint64_t tid);
  /// A pushed range that had not ended when the window did.
  void add_unfinished(const Record& record, uint64_t tid) {
    write_slice(record, tid, ", \"finished\": false");
  }
  /// After each round over all threads. An end may be read one round before its begin, not more.
  void end_round() {
    earlier_ends_.swap(early_ends_);
    early_ends_.clear();
  }

 private:
  struct End {
    int64_t time_ns;
    uint64_t tid;
  };

  void write_slice(const Record& record, uint64_t tid, std::string_view more_args = {});
  void write_event(std::string_view head, const Record& record, uint64_t tid);
  void start(const Record& record, uint64_t tid);
  void end(uint64_t range, const End& end);
  void write_end(const Record& start, const End& end);
  void write_args(trace::TextBuffer& text, const Record& record);

  EventOutput& out_;
  std::unordered_map<uint64_t, Record> open_;       ///< by range
  std::unordered_map<uint64_t, End> early_ends_;    ///< without begin, of this round
  std::unordered_map<uint64_t, End> earlier_ends_;  ///< of the last
};

}  // namespace redline::profiler
