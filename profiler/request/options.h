// What the recorder is asked to do: the JSON of redline_prepare() and of REDLINE_RECORD.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "profiler/schedule.h"
#include "profiler/source/source.h"

namespace redline::profiler {

/// Names as torch.profiler.profile has them.
inline constexpr std::pair<const char*, bool SourceOptions::*> kSourceOptions[] = {
    {"record_shapes", &SourceOptions::record_shapes},
    {"profile_memory", &SourceOptions::profile_memory},
    {"with_stack", &SourceOptions::with_stack},
    {"with_flops", &SourceOptions::with_flops},
    {"with_modules", &SourceOptions::with_modules},
};

struct Options {
  std::string directory;  ///< of the spooled file; where given, exit() completes a window into it
  SourceOptions sources;  ///< "record_shapes", "profile_memory", …
  uint64_t memory_budget_bytes = uint64_t{64} << 20;
  int64_t ring_ns = 0;     ///< > 0: only the last of this time is kept (flight_recorder.h)
  double slow_step = 3;    ///< times the median step that write the ring; 0: none do
  uint64_t max_bytes = 0;  ///< of the trace's text, before compression; 0: any

  bool operator==(const Options&) const = default;
};

/// Options from a JSON object; unknown keys and wrong types are errors.
[[nodiscard]] tl::expected<Options, std::string> parse_options(std::string_view json);

/// What `redline record` wants of the processes it starts.
struct RecordRequest {
  Options options;
  std::optional<Schedule> schedule;
  std::vector<int64_t> ranks;  ///< only these record; empty: all
  std::string step_marker;     ///< a range or mark of this name begins a step; "": none does
};

/// Whether the request's ranks leave this process alone.
[[nodiscard]] bool is_excluded(const RecordRequest& request);

/// From REDLINE_RECORD's value: {"schedule": {"skip_first", …}, "ranks": […], "step_marker": "…"}
/// and the keys of Options.
[[nodiscard]] tl::expected<RecordRequest, std::string> parse_record_request(std::string_view json);

/// The same from the environment; an error where REDLINE_RECORD is not set.
[[nodiscard]] tl::expected<RecordRequest, std::string> record_request_from_environment();

/// True where `text` is one JSON value.
[[nodiscard]] bool is_json(std::string_view text);
[[nodiscard]] bool is_json_object(std::string_view text);

}  // namespace redline::profiler
