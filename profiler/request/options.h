// Reads what the recorder shall do, as JSON: the options of redline_prepare(), and the request that
// `redline record` puts into the environment variable REDLINE_RECORD of the processes it starts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "profiler/recorder_options.h"
#include "profiler/schedule.h"

namespace redline::profiler {

struct Options : RecorderOptions {
  /// The trace grows here. If a directory is given, exit() completes the trace of an open window.
  std::string directory;
  /// exit() writes no trace in which there is nothing that the process did.
  bool only_with_work = false;

  [[nodiscard]] int64_t ring_ns() const { return static_cast<int64_t>(ring_seconds * 1e9); }
  bool operator==(const Options&) const = default;
};

/// What `redline record` wants of the processes it starts.
struct RecordRequest {
  Options options;
  std::optional<Schedule> schedule;
  std::vector<int64_t> ranks;    ///< only these record; empty: all
  std::string step_marker;       ///< ranges or marks of this name begin a step; "": no marker
  bool only_on_request = false;  ///< records nothing but what `redline trigger` asks for
};

/// The part of that name, such as "wait"; null if there is none.
[[nodiscard]] int64_t* schedule_field(Schedule& schedule, std::string_view name);

/// Reads an object with the options' keys, "directory", "schedule" ({"skip_first": …}), "ranks"
/// ([…]), "step_marker" and "only_on_request". An unknown key or a wrong type is an error. A key
/// with null counts as missing.
[[nodiscard]] tl::expected<RecordRequest, std::string> parse_record_request(std::string_view json);
[[nodiscard]] std::string to_json(const RecordRequest& request);

/// Reads REDLINE_RECORD. It is an error if the variable is not set.
[[nodiscard]] tl::expected<RecordRequest, std::string> record_request_from_environment();

/// Says what is wrong with the name after --step-marker; "" if nothing is.
[[nodiscard]] std::string problem_of_step_marker(const std::string& name);

/// Says why traces cannot be asked for in `directory`; "" if they can.
[[nodiscard]] std::string problem_of_directory(const std::string& directory);

/// Whether the request names ranks and this process has another one.
[[nodiscard]] bool is_excluded(const RecordRequest& request);

/// Notes for `redline record` (recording_summary.h) what `ranks` came to in a process that has no
/// Python: it is left out, or has no rank and is recorded all the same.
void note_ranks(const RecordRequest& request);

/// True if `text` is one JSON value.
[[nodiscard]] bool is_json(std::string_view text);
[[nodiscard]] bool is_json_object(std::string_view text);

}  // namespace redline::profiler
