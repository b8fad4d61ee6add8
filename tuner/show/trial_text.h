// Everything that a study knows about one trial, for people.
#pragma once

#include <string>

#include "tuner/study/study.h"

namespace redline::tuner {

/// The error names the study and how many trials it has.
[[nodiscard]] Result<std::string> trial_text(const StudyContent& study, int64_t id);

}  // namespace redline::tuner
