// What the recorder is asked to do, as JSON: by redline_prepare(), and by `redline record` in the
// environment variable REDLINE_RECORD of the processes that it starts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "profiler/recorder_options.h"
#include "profiler/schedule.h"

namespace redline::profiler {

struct Options : RecorderOptions {
  std::string directory;  ///< of the spooled file; where given, exit() completes a window into it

  [[nodiscard]] int64_t ring_ns() const { return static_cast<int64_t>(ring_seconds * 1e9); }
  bool operator==(const Options&) const = default;
};

/// What `redline record` wants of the processes it starts.
struct RecordRequest {
  Options options;
  std::optional<Schedule> schedule;
  std::vector<int64_t> ranks;  ///< only these record; empty: all
  std::string step_marker;     ///< a range or mark of this name begins a step; "": none does
};

inline constexpr std::pair<const char*, int64_t Schedule::*> kScheduleFields[] = {
    {"skip_first", &Schedule::skip_first},
    {"wait", &Schedule::wait},
    {"warmup", &Schedule::warmup},
    {"active", &Schedule::active},
    {"repeat", &Schedule::repeat}};

/// From an object of the options' keys, "directory", {"schedule": {"skip_first", …}, "ranks": […],
/// "step_marker": "…"}. Unknown keys and wrong types are errors; null is as if the key was not
/// there.
[[nodiscard]] tl::expected<RecordRequest, std::string> parse_record_request(std::string_view json);
[[nodiscard]] std::string to_json(const RecordRequest& request);

/// From the environment; an error where REDLINE_RECORD is not set.
[[nodiscard]] tl::expected<RecordRequest, std::string> record_request_from_environment();

/// What is wrong with the name after --step-marker; "": nothing.
[[nodiscard]] std::string problem_of_step_marker(const std::string& name);

/// Whether the request's ranks leave this process alone.
[[nodiscard]] bool is_excluded(const RecordRequest& request);

/// True where `text` is one JSON value.
[[nodiscard]] bool is_json(std::string_view text);
[[nodiscard]] bool is_json_object(std::string_view text);

struct JobRank {
  int64_t rank = 0;
  int64_t world_size = 1;
};

/// torchrun's variables first, then those of Open MPI, Slurm, and PMI (MPICH, Intel MPI): of the
/// first that tells both; none where none does.
[[nodiscard]] std::optional<JobRank> job_rank();

}  // namespace redline::profiler
