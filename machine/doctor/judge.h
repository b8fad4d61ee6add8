// Judges the facts: what is fine, what is not, and what to do about it, as text and JSON. These are
// pure functions, which do not look at the machine. All wording is here and in judge_*.cc.
#pragma once

#include <string>
#include <vector>

#include "base/terminal.h"
#include "machine/doctor/facts.h"

namespace redline::doctor {

enum class State {
  kOk,
  kWarning,  ///< works, but worse than it could
  kError,    ///< keeps GPU training or the recorder from working
  kAbsent,   ///< not installed, which may be intended
};

struct Check {
  State state = State::kOk;
  std::string name;                ///< never changes, because scripts look for it
  std::vector<std::string> parts;  ///< shown with a separator between them
  std::string cure;                ///< what to do about a warning or an error
};

[[nodiscard]] std::vector<Check> judge(const Facts& facts);

// The parts of judge(), in the order in which they are shown.
[[nodiscard]] std::vector<Check> judge_driver(const Facts& facts);
[[nodiscard]] std::vector<Check> judge_gpus(const Facts& facts);
[[nodiscard]] std::vector<Check> judge_visibility(const Facts& facts);
[[nodiscard]] std::vector<Check> judge_toolkit(const Facts& facts);
[[nodiscard]] std::vector<Check> judge_python(const Facts& facts);
[[nodiscard]] std::vector<Check> judge_recorder(const Facts& facts);
[[nodiscard]] std::vector<Check> judge_cupti(const Facts& facts);
[[nodiscard]] std::vector<Check> judge_host(const Facts& facts);
[[nodiscard]] std::vector<Check> judge_site(const Facts& facts);

/// "13.0"
[[nodiscard]] std::string text_of(CudaVersion version);

/// "140.4 GiB (139.7 free)", "64.0 MiB (512.0 KiB free)".
[[nodiscard]] std::string space_text(int64_t bytes, int64_t free_bytes);

/// For each check one or more lines of at most 80 columns, then "N errors, N warnings".
[[nodiscard]] std::string as_text(const std::vector<Check>& checks, const TextStyle& style);

/// One object of schema redline.doctor/1: the facts, the checks, and the counts.
[[nodiscard]] std::string as_json(const Facts& facts, const std::vector<Check>& checks);

[[nodiscard]] int count(const std::vector<Check>& checks, State state);

}  // namespace redline::doctor
