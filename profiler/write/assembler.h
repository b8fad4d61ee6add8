// Turns records into the events of one trace file, with the recorder's counts under its own
// top-level key. Runs on the writer thread only.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "profiler/log/record.h"
#include "profiler/log/text_table.h"
#include "profiler/write/event_output.h"
#include "profiler/write/gpu_writer.h"
#include "profiler/write/nvtx_writer.h"
#include "profiler/write/operator_writer.h"
#include "trace/emit/writer.h"

namespace redline::profiler {

struct AssemblerOptions {
  std::string spool_path;
  int64_t begin_ns = 0;        ///< monotonic_ns() when the window begins
  int64_t unix_offset_ns = 0;  ///< unix time = monotonic_ns() + this, for the whole window
  std::vector<trace::Entry> header;
  uint64_t max_bytes = 0;            ///< TraceHeader::max_bytes
  trace::WritePace* pace = nullptr;  ///< TraceHeader::pace
  bool is_private = false;           ///< TraceHeader::is_private
};

class Assembler {
 public:
  Assembler(const TextTable& texts, const AssemblerOptions& options);

  void add(const Record& record, uint64_t tid);
  /// A slice that had not ended at `end_ns`.
  void add_unfinished(Record record, uint64_t tid, int64_t end_ns);
  /// Ends the ranges of NVTX that were started and not ended. Gives their number.
  size_t end_open_ranges(int64_t end_ns) { return nvtx_.end_open(end_ns); }
  /// To be called after each round over all threads.
  void end_round() {
    operators_.end_round();
    nvtx_.end_round();
  }
  void flush() { out_.file().flush(); }
  void set_effort(trace::DeflateEffort effort) { out_.file().set_effort(effort); }

  struct Thread {
    uint64_t tid;
    std::string name;
  };
  /// Ends the file, with a row for each of `threads` and with `entries` as top-level keys.
  void finish(int64_t end_ns, const std::vector<Thread>& threads,
              const std::vector<trace::Entry>& entries);
  [[nodiscard]] tl::expected<void, std::string> save(const std::string& path) {
    return out_.file().save(path);
  }
  void drop() { out_.file().drop(); }

  [[nodiscard]] uint64_t written() const { return out_.kept(); }
  /// Whether the events so far tell of nothing that the process did, but only of its machine.
  [[nodiscard]] bool has_only_samples() const { return out_.events() == samples_; }
  [[nodiscard]] uint64_t lost_texts() const { return out_.lost_texts(); }
  [[nodiscard]] uint64_t bytes_written() const { return out_.file().bytes_written(); }
  /// After flush(): whether all events so far are in the file.
  [[nodiscard]] bool is_written() const { return out_.file().is_written(); }
  [[nodiscard]] const std::string& error() const { return out_.file().error(); }

 private:
  const int64_t begin_ns_;
  uint64_t samples_ = 0;
  EventOutput out_;
  OperatorWriter operators_{out_};
  NvtxWriter nvtx_{out_};
  GpuWriter gpu_{out_};
};

/// The top-level key of a trace for the recorder's own counts. Other code may add members to it.
inline constexpr const char* kOwnEntry = "redline";

struct TraceSummary {
  uint64_t events = 0;
  uint64_t dropped = 0;        ///< events that found no memory, or no room on the disk
  uint64_t dropped_names = 0;  ///< names and args that were not kept
  uint64_t threads = 0;
  uint64_t unfinished = 0;  ///< events of slices that had not ended
};

/// `entries`, in which all those of kOwnEntry are put together into one, with `summary`.
[[nodiscard]] std::vector<trace::Entry> closing_entries(const TraceSummary& summary,
                                                        const std::vector<trace::Entry>& entries);

}  // namespace redline::profiler
