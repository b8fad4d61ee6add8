// `redline what-if` as text and as JSON.
#pragma once

#include <span>
#include <string>

#include "base/terminal.h"
#include "trace/analysis/what_if.h"

namespace redline::trace {

[[nodiscard]] std::string what_if_text(const std::string& path, std::span<const WhatIfKnob> knobs,
                                       const Prediction& prediction, const TextStyle& style);
/// Schema "redline.what-if/1".
[[nodiscard]] std::string what_if_json(const std::string& path, std::span<const WhatIfKnob> knobs,
                                       const Prediction& prediction);

}  // namespace redline::trace
