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

/// Fails only where the file cannot be opened, or where no readable block says whose log it is.
[[nodiscard]] tl::expected<StepLog, ReadError> read_step_log(const std::string& path);

/// The same of bytes that are in memory; `name` stands for the path.
[[nodiscard]] tl::expected<StepLog, ReadError> parse_step_log(const std::string& name,
                                                              std::string_view bytes);

/// The logs in a folder, by rank and then by age (a job that was started again has several of a
/// rank); of 1,024 ranks one may read one after the other.
[[nodiscard]] std::vector<std::string> find_step_logs(const std::string& folder);

}  // namespace redline::trace
