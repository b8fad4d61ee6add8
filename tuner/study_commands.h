// autotune show | export | apply FILE: what a study holds, without running anything.
#pragma once

#include <optional>

namespace redline::tuner {

/// The exit status where the first word is one of these commands; nothing for a search.
[[nodiscard]] std::optional<int> run_study_command(int argc, char** argv);

}  // namespace redline::tuner
