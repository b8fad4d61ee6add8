#include <Python.h>

#include <iterator>

#include "profiler/python/python_object.h"

// Comes after Python.h, because it names the type of Python's objects.
#include "profiler/python/step_hooks.h"

namespace redline::profiler {
namespace {

/// Calls `function` with the number; nullptr if the object is none.
PyObject* call_with_part(void (*function)(int), PyObject* part) {
  const long number = PyLong_AsLong(part);
  if (number == -1 && PyErr_Occurred() != nullptr) return nullptr;
  function(static_cast<int>(number));
  Py_RETURN_NONE;
}

PyObject* log_enter(PyObject*, PyObject* part) { return call_with_part(redline_log_enter, part); }
PyObject* log_leave(PyObject*, PyObject* part) { return call_with_part(redline_log_leave, part); }

PyObject* log_step(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 2) return PyErr_Format(PyExc_TypeError, "log_step(samples, tokens)");
  const int64_t samples = PyLong_AsLongLong(arguments[0]);
  const int64_t tokens = PyLong_AsLongLong(arguments[1]);
  if ((samples == -1 || tokens == -1) && PyErr_Occurred() != nullptr) return nullptr;
  return PyBool_FromLong(redline_log_step(samples, tokens));
}

PyObject* next_step(PyObject*, PyObject* number) {
  const int64_t step = PyLong_AsLongLong(number);
  if (step == -1 && PyErr_Occurred() != nullptr) return nullptr;
  return PyLong_FromLong(redline_next_step(step));
}

/// Python's type for functions with an array of arguments has another signature than the field that
/// holds it.
PyCFunction as_method(PyObject* (*function)(PyObject*, PyObject* const*, Py_ssize_t)) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef g_functions[] = {{"log_enter", log_enter, METH_O, nullptr},
                             {"log_leave", log_leave, METH_O, nullptr},
                             {"log_step", as_method(log_step), METH_FASTCALL, nullptr},
                             {"next_step", next_step, METH_O, nullptr}};

/// What a call of the wrapper needs to know. Python objects that are kept for ever, because the
/// interpreter may be gone before this library.
struct CallThrough {
  PyObject* original = nullptr;
  PyObject* inside = nullptr;
  vectorcallfunc body = nullptr;
};

CallThrough& call_through() {
  static CallThrough through;
  return through;
}

PyObject* call_original_or_body(PyObject* wrapper, PyObject* const* arguments, size_t count,
                                PyObject* names) {
  const CallThrough& through = call_through();
  if (PyList_GET_SIZE(through.inside) == 0) {
    return through.body(wrapper, arguments, count, names);
  }
  return PyObject_Vectorcall(through.original, arguments, count, names);
}

}  // namespace
}  // namespace redline::profiler

PyObject* redline_python_step_functions(void) {
  using namespace redline::profiler;
  Object functions(PyTuple_New(std::size(g_functions)));
  if (functions == nullptr) return nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(functions.get()); ++i) {
    PyObject* function = PyCFunction_New(&g_functions[i], nullptr);
    if (function == nullptr) return nullptr;
    PyTuple_SET_ITEM(functions.get(), i, function);
  }
  return functions.release();
}

PyObject* redline_python_call_through(PyObject* wrapper, PyObject* original, PyObject* inside) {
  using namespace redline::profiler;
  CallThrough& through = call_through();
  if (through.inside != nullptr || !PyFunction_Check(wrapper) || !PyList_Check(inside)) {
    return PyErr_Format(PyExc_TypeError, "a function of Python and a list, once");
  }
  auto* function = reinterpret_cast<PyFunctionObject*>(wrapper);
  through = {keep(original).release(), keep(inside).release(), function->vectorcall};
#if PY_VERSION_HEX >= 0x030C0000
  PyFunction_SetVectorcall(function, call_original_or_body);
#else
  function->vectorcall = call_original_or_body;
#endif
  Py_RETURN_NONE;
}
