// Turns records into the events of one trace file. Runs on the writer thread only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <unordered_map>
#include <vector>

#include "profiler/forward_backward.h"
#include "profiler/record.h"
#include "profiler/text_table.h"
#include "trace/writer.h"

namespace redline::profiler {

struct AssemblerOptions {
  std::string spool_path;
  int64_t begin_ns = 0;        ///< monotonic_ns() where the window begins
  int64_t unix_offset_ns = 0;  ///< unix time = monotonic_ns() + this, for the whole window
  std::vector<trace::Entry> header;
};

class Assembler {
 public:
  Assembler(const TextTable& texts, const AssemblerOptions& options);

  void add(const Record& record, uint64_t tid);
  /// After each round over all threads: arrows whose forward operator was read later than the
  /// backward one.
  void end_round();
  void flush() { writer_.flush(); }

  struct Thread {
    uint64_t tid;
    std::string name;
  };
  /// Ends the file; `threads` get their rows.
  void finish(int64_t end_ns, const std::vector<Thread>& threads,
              const std::vector<trace::Entry>& entries);
  [[nodiscard]] tl::expected<void, std::string> save(const std::string& path) {
    return writer_.save(path);
  }

  [[nodiscard]] uint64_t written() const { return written_; }
  [[nodiscard]] uint64_t bytes_written() const { return writer_.bytes_written(); }
  [[nodiscard]] const std::string& error() const { return writer_.error(); }

 private:
  struct Pending {
    Record record;
    uint64_t tid;
  };

  void write_slice(const Record& record, uint64_t tid);
  [[nodiscard]] Record with_node_of_child(const Record& record, uint64_t tid);
  void write_args(trace::TextBuffer& args, const Record& record);
  [[nodiscard]] bool draw_flow(const Record& backward, uint64_t tid);
  [[nodiscard]] std::string_view text(TextId id);
  [[nodiscard]] int64_t unix_ns(int64_t monotonic) const { return monotonic + unix_offset_ns_; }

  const TextTable& texts_;
  const int64_t begin_ns_;
  const int64_t unix_offset_ns_;
  trace::TraceWriter writer_;
  std::vector<std::string_view> known_texts_;
  ForwardOperators forwards_;
  std::vector<Pending> pending_;
  std::unordered_map<uint64_t, Record> last_backward_;  ///< by tid
  uint64_t written_ = 0;
  uint64_t last_flow_ = 0;
};

}  // namespace redline::profiler
