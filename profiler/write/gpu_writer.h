// Writes GPU work and the calls that launched it, as Kineto does: each GPU is a process, and each
// stream a thread of it. For the writer thread only.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "profiler/log/record.h"
#include "profiler/write/event_output.h"

namespace redline::profiler {

class GpuWriter {
 public:
  explicit GpuWriter(EventOutput& out) : out_(out) {}

  void add(const Record& record, uint64_t tid);
  /// Writes the names of the rows that were used.
  void finish(int64_t begin_ns);

 private:
  struct Row {
    int64_t process;
    uint32_t lane;
    auto operator<=>(const Row&) const = default;
  };

  void write_work(const Record& record);
  void write_instant(const Record& record);
  void write_call(const Record& record, uint64_t tid);
  void write_overhead(const Record& record);
  void draw_arrow(const Record& record);
  [[nodiscard]] trace::TextBuffer& begin_slice(const Record& record, std::string_view category,
                                               int64_t process, uint64_t lane);
  void end_slice(trace::TextBuffer& text);
  void write_row(const Row& row, std::string_view what, std::string_view value, int64_t begin_ns);

  EventOutput& out_;
  std::set<Row> rows_;
  std::map<Row, std::string> names_;  ///< names that the program gave, as JSON strings
};

}  // namespace redline::profiler
