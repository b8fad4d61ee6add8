// What a stub library of the tests answers: a number from the environment, else its default.
#pragma once

#include <cstdlib>

namespace redline::stub {

inline int number(const char* variable, int otherwise) {
  const char* value = std::getenv(variable);
  return value == nullptr ? otherwise : std::atoi(value);
}

}  // namespace redline::stub
