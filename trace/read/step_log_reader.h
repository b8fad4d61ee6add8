// Reads step logs, whatever their state: cut short, damaged, still being written.
#pragma once

#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "trace/model/step_log.h"
#include "trace/read/reader.h"

namespace redline::trace {

/// Fails only where the file cannot be opened, or where no readable block says whose log it is.
[[nodiscard]] tl::expected<StepLog, ReadError> read_step_log(const std::string& path);

/// The logs in a folder, by rank and then by age; of 1,024 ranks one may read one after the other.
[[nodiscard]] std::vector<std::string> find_step_logs(const std::string& folder);

/// Steps that end in the same `span_ns` of time become one entry, as the writer does with old
/// hours.
void thin_out(std::vector<LoggedStep>& steps, int64_t before_ns, int64_t span_ns);

}  // namespace redline::trace
