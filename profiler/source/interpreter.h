// Whether this is a process of Python, where the package redline does some of what a library does
// in other programs.
#pragma once

#include <dlfcn.h>

namespace redline::profiler {

/// Whether an interpreter is loaded, perhaps not initialized yet.
[[nodiscard]] inline bool has_interpreter() {
  return dlsym(RTLD_DEFAULT, "Py_IsInitialized") != nullptr;
}

}  // namespace redline::profiler
