// Writes NVTX events: nested ranges as slices, marks as instants, and ranges that may overlap as
// async events, whose begin and end have the same number. For the writer thread only.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "profiler/log/record.h"
#include "profiler/write/event_output.h"

namespace redline::profiler {

class NvtxWriter {
 public:
  static constexpr std::string_view kUnfinished = ", \"finished\": false";

  explicit NvtxWriter(EventOutput& out) : out_(out) {}

  void add(const Record& record, uint64_t tid);
  /// A pushed range that was still open when the window ended.
  void add_unfinished(const Record& record, uint64_t tid) { write_slice(record, tid, kUnfinished); }
  /// Ends the ranges that were started and not ended. Gives their number.
  size_t end_open(int64_t end_ns);
  /// To be called after each round over all threads. An end may be read at most one round before
  /// its begin.
  void end_round() {
    earlier_ends_.swap(early_ends_);
    early_ends_.clear();
  }

 private:
  struct Start {
    Record record;
    uint64_t tid;
  };
  struct End {
    int64_t time_ns;
    uint64_t tid;
  };

  void write_slice(const Record& record, uint64_t tid, std::string_view more_args = {});
  void write_event(std::string_view head, const Record& record, uint64_t tid,
                   std::string_view more_args = {});
  void start(const Record& record, uint64_t tid);
  void end(uint64_t range, const End& end);
  void write_end(const Record& start, const End& end, std::string_view more_args = {});
  void write_args(trace::TextBuffer& text, const Record& record);

  EventOutput& out_;
  std::unordered_map<uint64_t, Start> open_;        ///< by the range's number
  std::unordered_map<uint64_t, End> early_ends_;    ///< ends of this round without begin
  std::unordered_map<uint64_t, End> earlier_ends_;  ///< ends of the last round without begin
};

}  // namespace redline::profiler
