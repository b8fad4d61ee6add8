// {knob} placeholders in the words of a command line and in environment values.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "tuner/trial/trial.h"

namespace redline::tuner {

/// `text` with every {name} that `config` knows replaced by its value. Other braces stay: JSON and
/// shell text pass through. Names that were replaced are added to `used`.
[[nodiscard]] std::string fill_placeholders(const std::string& text, const Config& config,
                                            std::set<std::string>* used = nullptr);

/// The knobs of `config` whose placeholder stands in one of `words`.
[[nodiscard]] std::set<std::string> placeholders_in(const std::vector<std::string>& words,
                                                    const Config& config);

/// {"batch_size": 256, "amp": "bf16"}: the text of REDLINE_KNOBS. Whole numbers become JSON
/// numbers. Knobs in `without` are left out: what a placeholder already set is not set twice.
[[nodiscard]] std::string knobs_json(const Config& config, const std::set<std::string>& without);

}  // namespace redline::tuner
