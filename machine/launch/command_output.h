// Runs a program and takes what it prints.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace redline::launch {

/// stdout of a program that ended with status 0 in time; else none. Its stderr goes nowhere. One
/// that is late is killed.
[[nodiscard]] std::optional<std::string> command_output(const std::vector<std::string>& words,
                                                        std::chrono::milliseconds time_limit);

}  // namespace redline::launch
