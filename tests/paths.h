// Where tests find what lies outside their own sources.
//
// Functions, not macros: the same test then compiles to the same object in every clone, and a
// compiler cache can share it.
#pragma once

#include <string>

namespace redline::testing {

[[nodiscard]] std::string source_dir();    ///< the root of the sources
[[nodiscard]] std::string shared_dir();    ///< real traces and hostile inputs; may be absent
[[nodiscard]] std::string programs_dir();  ///< of the built programs

}  // namespace redline::testing
