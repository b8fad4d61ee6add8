// Reads step logs, whatever their state: cut short, damaged, still being written.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "trace/model/step_log.h"
#include "trace/read/reader.h"

namespace redline::trace {

/// Fails only if the file cannot be opened, or if no readable block says whose log it is. The log
/// takes over the memory of `used`, a log that nobody needs any more.
[[nodiscard]] tl::expected<StepLog, ReadError> read_step_log(const std::string& path,
                                                             StepLog used = {});

/// The same for bytes that are in memory; `name` stands for the path.
[[nodiscard]] tl::expected<StepLog, ReadError> parse_step_log(const std::string& name,
                                                              std::string_view bytes,
                                                              StepLog used = {});

/// The logs in a folder, sorted by rank and then by start (a job that was started again has several
/// logs of a rank).
[[nodiscard]] std::vector<std::string> find_step_logs(const std::string& folder);

}  // namespace redline::trace
