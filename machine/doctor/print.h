// The doctor's findings as text for people and as JSON for programs.
#pragma once

#include <string>
#include <vector>

#include "base/terminal.h"
#include "machine/doctor/judge.h"

namespace redline::doctor {

/// A line or more of at most 80 columns for each check, then "N errors, N warnings".
[[nodiscard]] std::string as_text(const std::vector<Check>& checks, const TextStyle& style);

/// One object of schema redline.doctor/1: the facts, the checks, and the counts.
[[nodiscard]] std::string as_json(const Facts& facts, const std::vector<Check>& checks);

[[nodiscard]] int count(const std::vector<Check>& checks, State state);

}  // namespace redline::doctor
