// Judges the facts: what is fine, what is not, and what cures it. Pure; all wording is here.
#pragma once

#include <vector>

#include "cli/doctor/check.h"
#include "cli/doctor/facts.h"

namespace redline::doctor {

[[nodiscard]] std::vector<Check> judge(const Facts& facts);

// The parts, in the order in which they are shown.
[[nodiscard]] std::vector<Check> judge_driver(const Facts& facts);
[[nodiscard]] std::vector<Check> judge_gpus(const Facts& facts);
[[nodiscard]] std::vector<Check> judge_visibility(const Facts& facts);
[[nodiscard]] std::vector<Check> judge_toolkit(const Facts& facts);
[[nodiscard]] std::vector<Check> judge_python(const Facts& facts);
[[nodiscard]] std::vector<Check> judge_recorder(const Facts& facts);
[[nodiscard]] std::vector<Check> judge_cupti(const Facts& facts);
[[nodiscard]] std::vector<Check> judge_host(const Facts& facts);

/// "13.0"
[[nodiscard]] std::string text_of(CudaVersion version);

/// "139.8 GiB", without unit where `unit` is false.
[[nodiscard]] std::string gibibytes(int64_t bytes, bool unit = true);

}  // namespace redline::doctor
