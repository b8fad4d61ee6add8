// Whether the kernel ends processes because memory has run out.
#pragma once

#include <cstdint>
#include <string>

namespace redline::machine {

/// How many processes its out-of-memory killer has ended on this machine since boot; 0 if it does
/// not say. `root` is the folder of proc: "" for this machine.
[[nodiscard]] int64_t oom_kills(const std::string& root = "");

}  // namespace redline::machine
