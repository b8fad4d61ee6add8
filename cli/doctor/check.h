// One line of the doctor's finding.
#pragma once

#include <string>
#include <vector>

namespace redline::doctor {

enum class State {
  kOk,
  kWarning,  ///< works, but worse than it could
  kError,    ///< keeps GPU training or the recorder from working
  kAbsent,   ///< not there, which may well be intended
};

struct Check {
  State state = State::kOk;
  std::string name;                ///< stable: scripts look for it
  std::vector<std::string> parts;  ///< shown with a separator between them
  std::string cure;                ///< what to do about a warning or an error
};

}  // namespace redline::doctor
