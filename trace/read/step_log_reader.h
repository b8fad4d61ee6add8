// Reads step logs, whatever their state: cut short, damaged, still being written.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include <tl/expected.hpp>

#include "trace/model/step_log.h"
#include "trace/read/reader.h"

namespace redline::trace {

/// Fails only if the file cannot be opened, or if no readable block says whose log it is.
[[nodiscard]] tl::expected<StepLog, ReadError> read_step_log(const std::string& path);

/// The same for bytes that are in memory; `name` stands for the path.
[[nodiscard]] tl::expected<StepLog, ReadError> parse_step_log(const std::string& name,
                                                              std::string_view bytes);

/// The logs in a folder, sorted by rank and then by start (a job that was started again has several
/// logs of a rank).
[[nodiscard]] std::vector<std::string> find_step_logs(const std::string& folder);

}  // namespace redline::trace
