// Errors that LibTorch's Python bindings raise, seen where they are raised: a script may catch one,
// print a line and end well. The bindings set each by PyErr_SetString, which is redirected.
#include <atomic>

#include "profiler/torch/call_redirect.h"
#include "profiler/torch/torch_ops.h"

extern "C" {
// Of the interpreter in the process, if there is one.
__attribute__((weak)) void PyErr_SetString(struct _object* type, const char* text);
__attribute__((weak)) struct _object* PyErr_Occurred(void);
}

namespace redline::profiler {
namespace {

std::atomic<redline_torch_error_seen> g_seen = nullptr;

void set_string(struct _object* type, const char* text) {
  const auto seen = g_seen.load();
  // It may run Python code, which must not find an error that was set before.
  if (seen != nullptr && PyErr_Occurred() == nullptr) seen(type, text);
  PyErr_SetString(type, text);
}

}  // namespace
}  // namespace redline::profiler

int redline_torch_watch_errors(redline_torch_error_seen seen) {
  using namespace redline::profiler;
  if (PyErr_SetString == nullptr || PyErr_Occurred == nullptr) return -1;
  g_seen = seen;
  try {
    static CallRedirect redirect("PyErr_SetString", reinterpret_cast<void*>(&set_string));
    return redirect.enable() ? 0 : -1;
  } catch (...) {
    return -1;
  }
}
