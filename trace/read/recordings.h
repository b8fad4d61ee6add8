// A folder may hold the traces of several recordings, as where a command was recorded twice.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/intervals.h"
#include "trace/model/model.h"
#include "trace/model/recorded_jobs.h"
#include "trace/read/reader.h"

namespace redline::trace {

/// Which recording a trace is of.
struct RecordedTrace {
  RecordingMember member;
  std::string process;  ///< host and PID; empty where the trace has no thread
  /// The process that a flight recorder's trace is of, and the time that it holds; empty for other
  /// traces.
  std::string ring_process;
  Interval ring_span;
  bool is_merged = false;  ///< `redline merge` made it of others
};
[[nodiscard]] RecordedTrace recorded_trace(const Trace& trace);

/// What all traces of one `redline record` have in common, by the begin of a trace's file; "" if it
/// names no recording or cannot be read.
[[nodiscard]] std::string recording_of(const std::string& path);

/// Where a trace stands among others: by rank, and those of a rank by time, as PIDs in names do not
/// grow with time. Traces without a rank come last, by name: "rank10" stands behind "rank2".
[[nodiscard]] std::tuple<int, int64_t, std::string, std::string_view> place_of_trace(
    std::optional<int> rank, int64_t begin_ns, std::string_view path);

/// Which traces of a folder do not count, one entry each:
/// - Those of an earlier recording. Other recordings stay if their ranks may be other ranks of the
///   same job: on two nodes, two commands record one job. So do traces that do not name their
///   recording.
/// - Of a flight recorder, which writes its last seconds at a hang, and again when the process
///   ends, all that hold time that a later one of the process holds, too.
/// - Those that `redline merge` made, beside others: they hold what those hold.
[[nodiscard]] std::vector<bool> superseded(std::span<const RecordedTrace> traces);

/// A sentence for each of `paths` that is a folder with more readable files than `read`, the files
/// that were.
[[nodiscard]] std::vector<std::string> notes_on_left_out(
    const std::vector<std::string>& paths, const std::vector<std::string>& read,
    const std::vector<ReadError>& unreadable = {});

/// The files of the traces.
[[nodiscard]] std::vector<std::string> paths_of(
    std::span<const std::shared_ptr<const Trace>> traces);

}  // namespace redline::trace
