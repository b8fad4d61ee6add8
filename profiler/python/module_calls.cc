#include <Python.h>

#include <optional>

#include "profiler/python/frame_names.h"
#include "profiler/source/source.h"

// Comes after Python.h, because it names the type of Python's objects.
#include "profiler/python/module_calls.h"

namespace redline::profiler {
namespace {

/// The interpreter asks a function how it is called. We answer for Module.__call__, so no frame of
/// Python is added and no hook of torch, which torch.compile would see.
struct ModuleCalls {
  PyFunctionObject* function = nullptr;
  vectorcallfunc original = nullptr;
  FrameNames names;
  uint64_t last_id = 0;
  uint64_t window = 0;  ///< a call may outlast the window in which it began
};

/// Never destroyed, because the interpreter may be gone before this library.
ModuleCalls& module_calls() {
  static auto* const calls = new ModuleCalls;
  return *calls;
}

/// The innermost open call on a thread.
struct OpenCall {
  uint64_t id = 0;
  uint64_t window = 0;
};
thread_local OpenCall t_open;

[[gnu::hot]] void submit_call(const OpenCall& call, const OpenCall& parent, FrameName module,
                              int64_t begin_ns) {
  ModuleCalls& all = module_calls();
  if (call.window != all.window || !is_recording()) return;
  const auto [name, args] = all.names.intern(module);
  Record record;
  record.begin_ns = begin_ns;
  record.of = FrameFields{.end_ns = monotonic_ns(),
                          .id = call.id,
                          .parent = parent.window == all.window ? parent.id : 0,
                          .args = args,
                          .tid = 0};
  record.name = name;
  record.kind = RecordKind::kFrame;
  submit(record);
}

/// nullopt if memory lacks.
[[gnu::hot]] std::optional<FrameName> name_of_module(PyObject* module) noexcept {
  try {
    return module_calls().names.of_module(module);
  } catch (...) {
    return std::nullopt;
  }
}

/// Each page of code that a call touches costs, too (hook_calls.h).
[[gnu::hot]] PyObject* call_module(PyObject* function, PyObject* const* arguments, size_t count,
                                   PyObject* names) {
  ModuleCalls& all = module_calls();
  const vectorcallfunc original = all.original;
  const bool is_wanted = is_recording() && PyVectorcall_NARGS(count) > 0;
  const auto module = is_wanted ? name_of_module(arguments[0]) : std::nullopt;
  if (!module) return original(function, arguments, count, names);
  const OpenCall parent = t_open;
  const OpenCall own = t_open = {++all.last_id, all.window};
  const int64_t begin_ns = monotonic_ns();
  PyObject* result = original(function, arguments, count, names);
  submit_call(own, parent, *module, begin_ns);
  t_open = parent;
  return result;
}

void end_window() {
  ModuleCalls& all = module_calls();
  if (all.function == nullptr) return;
  if (all.function->vectorcall == call_module) set_vectorcall(all.function, all.original);
  ++all.window;
  all.names.close();
}

}  // namespace
}  // namespace redline::profiler

int redline_python_start_modules(PyObject* call) {
  using namespace redline::profiler;
  end_window();
  if (!PyFunction_Check(call)) return 0;
  ModuleCalls& all = module_calls();
  auto* function = reinterpret_cast<PyFunctionObject*>(call);
  Py_INCREF(call);  // kept for ever: a call of it may be open when the recording ends
  all.function = function;
  all.original = function->vectorcall;
  all.names.open(nullptr, {});
  ++all.window;
  set_vectorcall(function, call_module);
  return 1;
}

void redline_python_stop_modules(void) { redline::profiler::end_window(); }
