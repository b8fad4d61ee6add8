#include <Python.h>
#include <structmember.h>

#include <cstddef>
#include <optional>
#include <utility>

#include "profiler/python/hook_calls.h"
#include "profiler/python/python_object.h"
#include "trace/emit/step_log_terms.h"

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

PyObject* enter_part(PyObject*, PyObject* part) { return call_with_part(redline_log_enter, part); }
PyObject* leave_part(PyObject*, PyObject* part) { return call_with_part(redline_log_leave, part); }

PyObject* step(PyObject*, Arguments arguments, Py_ssize_t count) {
  if (count != 3) return PyErr_Format(PyExc_TypeError, "step(samples, tokens, is_inference)");
  const int64_t samples = PyLong_AsLongLong(arguments[0]);
  const int64_t tokens = PyLong_AsLongLong(arguments[1]);
  if ((samples == -1 || tokens == -1) && PyErr_Occurred() != nullptr) return nullptr;
  if (!log_step({samples, tokens, arguments[2] == Py_True})) return nullptr;
  Py_RETURN_NONE;
}

PyObject* next_step(PyObject*, PyObject* number) {
  const int64_t step = PyLong_AsLongLong(number);
  if (step == -1 && PyErr_Occurred() != nullptr) return nullptr;
  return PyLong_FromLong(redline_next_step(step));
}

PyObject* optimizer_made(PyObject*, PyObject*) {
  hooks().leader = {};  // whoever steps next, Python decides who leads
  hooks().loop.optimizer_made();
  Py_RETURN_NONE;
}

PyObject* gradients_are_reduced(PyObject*, PyObject*) {
  hooks().reduces = true;
  Py_RETURN_NONE;
}

/// In a forked child, which has a step log of its own.
PyObject* begin_anew(PyObject*, PyObject*) {
  Hooks& all = hooks();
  all.loop = all.loop.in_child();
  all.reads_sequences = true;
  all.reduces = false;
  all.idle_step = Hooks::kBusy;
  Py_RETURN_NONE;
}

/// For gc.callbacks: (phase, info). The youngest generation takes microseconds, and is not logged.
PyObject* collect_garbage(PyObject*, Arguments arguments, Py_ssize_t count) {
  if (count != 2 || !PyUnicode_Check(arguments[0]) || !PyDict_Check(arguments[1])) Py_RETURN_NONE;
  if (number_of(PyDict_GetItemString(arguments[1], "generation")).value_or(0) > 0) {
    const bool begins = PyUnicode_CompareWithASCIIString(arguments[0], "start") == 0;
    (begins ? redline_log_enter
            : redline_log_leave)(static_cast<int>(trace::LogPart::kGarbageCollection));
  }
  Py_RETURN_NONE;
}

/// Its name, by which pickle and copy find the hook where the script does.
PyObject* name_of_hook(PyObject* hook, PyObject*) {
  return PyObject_GetAttrString(hook, "__qualname__");
}

/// The type of hooks, or nullptr after a Python exception.
PyTypeObject* hook_type() {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(Hook, call), READONLY, nullptr},
      {"__dictoffset__", T_PYSSIZET, offsetof(Hook, attributes), READONLY, nullptr},
      {}};
  static PyGetSetDef attributes[] = {
      {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr}, {}};
  static PyMethodDef methods[] = {{"__reduce__", name_of_hook, METH_NOARGS, nullptr}, {}};
  static PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                {Py_tp_methods, methods},
                                {Py_tp_members, members},
                                {Py_tp_getset, attributes},
                                {}};
  static PyType_Spec spec = {"redline.Hook", sizeof(Hook), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL, slots};
  static PyObject* const type = PyType_FromSpec(&spec);
  return reinterpret_cast<PyTypeObject*>(type);
}

Hook* new_hook(vectorcallfunc call, Arguments arguments, Py_ssize_t count) {
  if (count < 1 || count > 2) {
    PyErr_Format(PyExc_TypeError, "what is called, and what helps the hook");
    return nullptr;
  }
  PyTypeObject* const type = hook_type();
  Hook* hook = type == nullptr ? nullptr : PyObject_New(Hook, type);
  if (hook == nullptr) return nullptr;
  hook->call = call;
  hook->original = keep(arguments[0]).release();
  hook->helper = count > 1 ? keep(arguments[1]).release() : nullptr;
  hook->part = 0;
  hook->attributes = nullptr;
  Py_INCREF(hook);
  return hook;
}

/// `kKept` is where the one hook of its kind is kept.
template <vectorcallfunc kCall, Hook* Hooks::*kKept = nullptr>
PyObject* hook_call(PyObject*, Arguments arguments, Py_ssize_t count) {
  Hook* const hook = new_hook(kCall, arguments, count);
  if constexpr (kKept != nullptr) hooks().*kKept = hook;
  return reinterpret_cast<PyObject*>(hook);
}

/// (what is called, the part that it is)
PyObject* hook_part(PyObject*, Arguments arguments, Py_ssize_t count) {
  const auto part = count == 2 ? number_of(arguments[1]) : std::nullopt;
  if (!part) return PyErr_Format(PyExc_TypeError, "hook_part(original, part)");
  Hook* hook = new_hook(call_part, arguments, 1);
  if (hook != nullptr) hook->part = static_cast<int>(*part);
  return reinterpret_cast<PyObject*>(hook);
}

/// (whether hooks find where steps end, helper for the end of a step, models by id, helper that
/// finds one, whether gradients are enabled)
PyObject* begin_log(PyObject*, Arguments arguments, Py_ssize_t count) {
  if (count != 5 || !PyDict_Check(arguments[2])) {
    return PyErr_Format(PyExc_TypeError, "begin_log() gets other arguments");
  }
  Hooks& all = hooks();
  all.logs = true;
  all.finds_steps = arguments[0] == Py_True;
  all.end_step = keep(arguments[1]).release();
  all.is_model = keep(arguments[2]).release();
  all.find_model = keep(arguments[3]).release();
  all.takes_gradients = keep(arguments[4]).release();
  Py_RETURN_NONE;
}

/// For Hooks::watch_batches, from now on.
PyObject* watch_batches(PyObject*, PyObject* helper) {
  hooks().watch_batches = keep(helper).release();
  Py_RETURN_NONE;
}

/// (helper at the end of each step of the job, helper at the end of the first that is not idle)
PyObject* begin_recording(PyObject*, Arguments arguments, Py_ssize_t count) {
  if (count != 2) return PyErr_Format(PyExc_TypeError, "begin_recording(step_ended, idle_ended)");
  hooks().step_ended = keep(arguments[0]).release();
  hooks().idle_ended = keep(arguments[1]).release();
  Py_RETURN_NONE;
}

/// From the step of this number on, none is to be recorded; with kBusy, some are. Gives the number
/// of the present step, if it was idle, else kBusy.
PyObject* be_idle(PyObject*, PyObject* number) {
  const int64_t next = number_of(number).value_or(Hooks::kBusy);
  return PyLong_FromLongLong(std::exchange(hooks().idle_step, next));
}

/// (function, hook): a call of the function, whose body calls the hook, does so without that body,
/// if the interpreter asks the function how it is called. Only for hooks of which there is one.
PyObject* call_at_once(PyObject*, Arguments arguments, Py_ssize_t count) {
  if (count != 2 || !PyFunction_Check(arguments[0])) {
    return PyErr_Format(PyExc_TypeError, "call_at_once(function, hook)");
  }
  auto* hook = reinterpret_cast<Hook*>(arguments[1]);
  if (hook == hooks().loader || hook == hooks().model) {
    set_vectorcall(reinterpret_cast<PyFunctionObject*>(arguments[0]), hook->call);
  }
  Py_RETURN_NONE;
}

/// Python's type for functions with an array of arguments has another signature than the field that
/// holds it.
PyCFunction as_method(PyObject* (*function)(PyObject*, Arguments, Py_ssize_t)) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef g_functions[] = {
    {"be_idle", be_idle, METH_O, nullptr},
    {"begin_log", as_method(begin_log), METH_FASTCALL, nullptr},
    {"begin_anew", begin_anew, METH_NOARGS, nullptr},
    {"begin_recording", as_method(begin_recording), METH_FASTCALL, nullptr},
    {"call_at_once", as_method(call_at_once), METH_FASTCALL, nullptr},
    {"collect_garbage", as_method(collect_garbage), METH_FASTCALL, nullptr},
    {"enter", enter_part, METH_O, nullptr},
    {"gradients_are_reduced", gradients_are_reduced, METH_NOARGS, nullptr},
    {"hook_backward", as_method(hook_call<call_backward>), METH_FASTCALL, nullptr},
    {"hook_engine", as_method(hook_call<call_engine>), METH_FASTCALL, nullptr},
    {"hook_loader", as_method(hook_call<call_loader, &Hooks::loader>), METH_FASTCALL, nullptr},
    {"hook_model", as_method(hook_call<call_model, &Hooks::model>), METH_FASTCALL, nullptr},
    {"hook_optimizer", as_method(hook_call<call_optimizer>), METH_FASTCALL, nullptr},
    {"hook_part", as_method(hook_part), METH_FASTCALL, nullptr},
    {"leave", leave_part, METH_O, nullptr},
    {"next_step", next_step, METH_O, nullptr},
    {"optimizer_made", optimizer_made, METH_NOARGS, nullptr},
    {"step", as_method(step), METH_FASTCALL, nullptr},
    {"watch_batches", watch_batches, METH_O, nullptr},
};

/// A function of Python that has another way past it. Python objects that are kept for ever.
struct CallThrough {
  PyObject* wrapper = nullptr;
  PyObject* original = nullptr;
  PyObject* inside = nullptr;
  vectorcallfunc body = nullptr;
};

constexpr size_t kMostThrough = 4;
size_t g_through_count = 0;
CallThrough g_through[kMostThrough];

PyObject* call_original_or_body(PyObject* wrapper, Arguments arguments, size_t count,
                                PyObject* names) {
  const CallThrough* through = g_through;
  while (through->wrapper != wrapper) ++through;
  if (PyList_GET_SIZE(through->inside) == 0) {
    return through->body(wrapper, arguments, count, names);
  }
  return PyObject_Vectorcall(through->original, arguments, count, names);
}

}  // namespace
}  // namespace redline::profiler

PyObject* redline_python_step_functions(void) {
  using namespace redline::profiler;
  Object functions(PyDict_New());
  if (functions == nullptr) return nullptr;
  for (PyMethodDef& definition : g_functions) {
    const Object function(PyCFunction_New(&definition, nullptr));
    if (function == nullptr ||
        PyDict_SetItemString(functions.get(), definition.ml_name, function.get()) != 0) {
      return nullptr;
    }
  }
  return functions.release();
}

PyObject* redline_python_call_through(PyObject* wrapper, PyObject* original, PyObject* inside) {
  using namespace redline::profiler;
  if (g_through_count == kMostThrough || !PyFunction_Check(wrapper) || !PyList_Check(inside)) {
    return PyErr_Format(PyExc_TypeError, "a function of Python and a list, not too often");
  }
  auto* function = reinterpret_cast<PyFunctionObject*>(wrapper);
  g_through[g_through_count++] = {keep(wrapper).release(), keep(original).release(),
                                  keep(inside).release(), function->vectorcall};
  set_vectorcall(function, call_original_or_body);
  Py_RETURN_NONE;
}
