// The study as one HTML page without references to anything outside.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuner/search/history.h"
#include "tuner/study/best_config.h"

namespace redline::tuner {

/// `study` is the file's name, `config_path` where best.json is, for the command to copy.
[[nodiscard]] std::string study_page(const History& history, const Space& space,
                                     const std::optional<Best>& best,
                                     const std::vector<std::string>& command,
                                     const std::string& study, const std::string& config_path);

}  // namespace redline::tuner
