// How `redline record` asks the processes it starts for traces.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "machine/launch/environment.h"
#include "profiler/request/options.h"

namespace redline::launch {

inline constexpr Schedule kDefaultSchedule{
    .skip_first = 0, .wait = 1, .warmup = 1, .active = 3, .repeat = 1};

/// Reads a text such as "wait=1,active=5". A number that is not named keeps kDefaultSchedule's
/// value. The error is one line.
[[nodiscard]] tl::expected<Schedule, std::string> parse_schedule(std::string_view text);

/// Makes the request's folder and tries to write there; the error is the reason why not.
[[nodiscard]] tl::expected<void, std::string> prepare_directory(const std::string& directory);

/// Lets Python processes (by the start-up hook) and programs (by LD_PRELOAD) load libredline.so.
/// The error names the part of Redline that is missing, and the cure.
[[nodiscard]] tl::expected<void, std::string> add_libraries(Environment& environment);

/// Puts the request into the environment, with add_libraries(). The request's directory must be
/// absolute, because the command may change its working directory.
[[nodiscard]] tl::expected<void, std::string> add_record_request(
    const profiler::RecordRequest& request, Environment& environment);

/// A name of `library` for LD_PRELOAD, which splits at blanks and colons and knows no escape: then
/// by a link to its folder.
[[nodiscard]] std::string preload_name(const std::string& library);

/// Makes libredline.so the tool that gets NVTX's ranges and marks, unless the user has set another.
void add_nvtx_tool(Environment& environment);

/// The other tool that the user has set for NVTX's ranges, if there is one. A process has only one
/// such tool, so we leave the user's in place.
[[nodiscard]] std::optional<std::string> other_nvtx_tool(const Environment& environment);

}  // namespace redline::launch
