// Sees the errors that LibTorch's Python bindings raise when they are raised, because a script may
// catch one, print a line and exit with status 0. The bindings set each error by PyErr_SetString,
// and we redirect these calls.
#include <atomic>

#include "profiler/torch/call_redirect.h"
#include "profiler/torch/torch_ops.h"

extern "C" {
// Functions of the interpreter in this process; null if there is none.
__attribute__((weak)) void PyErr_SetString(struct _object* type, const char* text);
__attribute__((weak)) struct _object* PyErr_Occurred(void);
}

namespace redline::profiler {
namespace {

std::atomic<redline_torch_error_seen> g_seen = nullptr;

void set_string(struct _object* type, const char* text) {
  const auto seen = g_seen.load();
  // `seen` may run Python code, which must not find an error that was set before.
  if (seen != nullptr && PyErr_Occurred() == nullptr) seen(type, text);
  PyErr_SetString(type, text);
}

}  // namespace
}  // namespace redline::profiler

int redline_torch_watch_errors(redline_torch_error_seen seen) {
  using namespace redline::profiler;
  if (PyErr_SetString == nullptr || PyErr_Occurred == nullptr) return -1;
  g_seen = seen;
  static CallRedirect redirect("PyErr_SetString", reinterpret_cast<void*>(&set_string));
  return redirect.enable() ? 0 : -1;
}
